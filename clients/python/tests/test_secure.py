"""Encryption and rights."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tokenwood
from tokenwood import Client
from tokenwood.testing import Cluster


@pytest.fixture(scope="module")
def secure() -> Iterator[Cluster]:
    """An encrypted cluster that denies what no rule allows."""
    with Cluster(secure=True) as cluster:
        yield cluster


def test_a_token_is_shown_over_tls(secure: Cluster, name: str) -> None:
    assert secure.endpoints[0].startswith("https://")
    with secure.client() as client, client.lock(name, wait=10) as grant:
        assert grant.remaining > 0


def test_without_a_token_it_is_not_allowed(secure: Cluster, name: str) -> None:
    with secure.client(token=None) as client:
        with pytest.raises(tokenwood.NotAllowed) as refused:
            client.lock(name, wait=10).acquire()
        assert refused.value.status == 401


def test_a_certificate_tells_who_the_client_is(secure: Cluster, name: str) -> None:
    """No rule allows anything to the client of this certificate, but the node knows it."""
    client = secure.client(token=None, certificate=secure.certificate, key=secure.key)
    with client, pytest.raises(tokenwood.NotAllowed) as refused:
        client.lock(name, wait=10).acquire()
    assert refused.value.status == 403


def test_a_node_that_cannot_be_trusted_gets_no_token(secure: Cluster, name: str) -> None:
    with Client(secure.endpoints, token=secure.token, reach=0) as client:
        with pytest.raises(tokenwood.Unavailable, match="(?i)certificate"):
            client.lock(name, wait=0).acquire()


def test_the_environment_configures_the_default_client(
    secure: Cluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENWOOD_HTTP", ", ".join(secure.endpoints))
    monkeypatch.setenv("TOKENWOOD_TOKEN", secure.token or "")
    monkeypatch.setenv("TOKENWOOD_CA", secure.ca or "")
    monkeypatch.setattr(tokenwood, "_default", None)
    with tokenwood.default_client():

        @tokenwood.locked(name, wait=10)
        def work() -> bool:
            return tokenwood.lock(name).try_acquire() is None

        assert work()
        with tokenwood.semaphore(f"{name}/s", 2), tokenwood.rwlock(f"{name}/w").shared():
            with tokenwood.room(f"{name}/r").group("a") as grant:
                assert grant.group == "a"


def test_wrong_options_are_refused_at_once() -> None:
    for endpoints in ([], "http://127.0.0.1:1", ["127.0.0.1:7720"]):
        with pytest.raises(ValueError):
            Client(endpoints)
    with pytest.raises(ValueError):
        Client(token="a\r\nb")
