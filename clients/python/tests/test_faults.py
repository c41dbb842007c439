"""Nodes that stop, nodes that die, connections that break."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

import tokenwood
from tokenwood import Client, Grant
from tokenwood.testing import Cluster

from .conftest import wait_until
from .proxy import Proxy


@pytest.fixture
def proxy(tokenwood_cluster: Cluster) -> Iterator[Proxy]:
    """A proxy before the first node."""
    with Proxy(tokenwood_cluster.endpoints[0]) as proxy:
        yield proxy


def test_a_holder_knows_of_its_loss_before_another_is_granted(fragile: Cluster, name: str) -> None:
    with fragile.client(0) as client, fragile.client(1) as other:
        with pytest.raises(tokenwood.LockLost):
            with client.lock(name) as grant:
                fragile.nodes[0].pause()
                with other.lock(name, wait=20) as next_grant:
                    assert grant.remaining == 0
                    assert next_grant.fence > grant.fence
                    assert grant.lost.wait(5)
                    with pytest.raises(tokenwood.LockLost):
                        grant.check()
        # The client goes on at another node, while the first still stands.
        with client.lock(name, wait=20) as again:
            assert again.node != 0
        fragile.nodes[0].resume()


def test_a_waiter_moves_to_another_node_when_its_node_stops(fragile: Cluster, name: str) -> None:
    with fragile.client(0) as client, fragile.client(1) as holder, ThreadPoolExecutor() as pool:
        held = holder.lock(name).acquire()
        waiting = pool.submit(client.lock(name).acquire)
        wait_until(lambda: waits_at(holder, name) == [0])
        fragile.nodes[0].pause()
        wait_until(lambda: waits_at(holder, name) == [1], 20)
        held.release()
        grant = waiting.result(10)
        assert grant.node == 1
        grant.release()
        fragile.nodes[0].resume()


def test_a_task_is_cancelled_when_its_node_dies(fragile: Cluster, name: str) -> None:
    async def main(client: Client) -> None:
        with pytest.raises(tokenwood.LockLost):
            async with client.lock(name) as grant:
                fragile.nodes[0].kill()
                await asyncio.sleep(20)
                pytest.fail("the body was not cancelled")
        assert grant.lost.is_set()
        async with client.lock(name, wait=20) as again:
            assert again.node != 0 and again.fence > grant.fence

    with fragile.client(0) as client:
        asyncio.run(main(client))


def test_leaders_follow_each_other(fragile: Cluster, name: str) -> None:
    terms: list[tuple[int, int]] = []

    def work(grant: Grant) -> str:
        terms.append((grant.node, grant.fence))
        if len(terms) == 1:
            fragile.nodes[0].kill()
            assert grant.lost.wait(20)
            return "not the leader any more"
        return "done"

    with fragile.client(0) as client:
        assert client.lead(name, work) == "done"
    assert [node for node, _ in terms] == [0, 1]
    assert terms[0][1] < terms[1][1]


def test_an_answer_that_is_lost_brings_one_grant(tokenwood_cluster: Cluster, proxy: Proxy, name: str) -> None:
    with Client([proxy.url]) as client:
        proxy.swallow_next("/acquire")
        with client.semaphore(name, 3, wait=10) as grant:
            assert proxy.swallowed == 1
            assert fences(tokenwood_cluster, name) == [grant.fence]
        assert fences(tokenwood_cluster, name) == []


def test_a_grant_whose_answer_nobody_hears_is_released(
    tokenwood_cluster: Cluster, proxy: Proxy, name: str
) -> None:
    async def main(client: Client) -> None:
        proxy.hold_back_next("/acquire")
        task = asyncio.ensure_future(client.lock(name).acquire_async())
        while not proxy.held_back:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Client([proxy.url]) as client, client.lock(f"{name}/other") as other:
        asyncio.run(main(client))
        wait_until(lambda: fences(tokenwood_cluster, name) == [])
        # The session and what else it holds are as before.
        other.check()


def test_a_release_that_is_not_heard_is_sent_again(
    tokenwood_cluster: Cluster, proxy: Proxy, name: str
) -> None:
    with Client([proxy.url]) as client, client.lock(f"{name}/other") as other:
        with client.lock(name):
            for _ in range(2):
                proxy.refuse_next("DELETE")
        wait_until(lambda: fences(tokenwood_cluster, name) == [])
        other.check()


def test_a_grant_that_is_revoked_is_lost(tokenwood_cluster: Cluster, name: str) -> None:
    with tokenwood_cluster.client() as client, client.lock(f"{name}/other") as other:
        with pytest.raises(tokenwood.LockLost, match="revoked"):
            with client.lock(name) as grant:
                url = f"{tokenwood_cluster.endpoints[0]}/v1/locks/{quote(name, safe='')}/force"
                body = json.dumps({"slot": grant.slot, "fence": grant.fence}).encode()
                request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
                urllib.request.urlopen(request, timeout=10).close()
                assert grant.lost.wait(10)
        other.check()
        assert not other.lost.is_set()


STOPPED = """
import sys, tokenwood
with tokenwood.lock(sys.argv[1]) as grant:
    print(grant.remaining > 0, flush=True)
"""


def test_a_grant_that_expired_while_the_program_stood_still_is_not_used(fragile: Cluster, name: str) -> None:
    command = [sys.executable, "-c", STOPPED, name]
    environment = {"TOKENWOOD_HTTP": ",".join(fragile.endpoints)}
    with fragile.client(1) as holder:
        held = holder.lock(name).acquire()
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            wait_until(lambda: waits_at(holder, name) == [0])
            process.send_signal(signal.SIGSTOP)
            held.release()
            wait_until(lambda: fences(fragile, name) not in ([], [held.fence]))
            time.sleep(1.2)  # Longer than a promise lasts, and shorter than the session.
            process.send_signal(signal.SIGCONT)
            begin = time.monotonic()
            assert process.communicate(timeout=20)[0] == "True\n"
            # It gave back what it could not use, and did not wait until that expired.
            assert time.monotonic() - begin < 5


def test_a_cluster_that_cannot_be_reached_is_unavailable(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with Client([url, url], reach=0.5) as client:
            begin = time.monotonic()
            for wait in (0, 0.2, None):
                with pytest.raises(tokenwood.Unavailable, match="cannot reach"):
                    client.lock(name, wait=wait).acquire()
            assert time.monotonic() - begin < 5


def test_a_dead_endpoint_is_passed_over(tokenwood_cluster: Cluster, name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        urls = [f"http://127.0.0.1:{free.getsockname()[1]}", *tokenwood_cluster.endpoints]
        with Client(urls) as client, client.lock(name, wait=0) as grant:
            assert grant.node == 0


def test_a_forked_process_holds_nothing(tokenwood_client: Client, name: str) -> None:
    import multiprocessing

    def child() -> None:
        assert tokenwood_client.lock(name).try_acquire() is None
        with tokenwood_client.lock(f"{name}/other", wait=5):
            pass

    with tokenwood_client.lock(name) as grant:
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(20)
        assert process.exitcode == 0
        grant.check()


def clients(cluster_or_client: Cluster | Client, name: str) -> list[dict[str, object]]:
    """The clients of a name, as a node tells of them."""
    url = f"{cluster_or_client.endpoints[1]}/v1/locks/{quote(name, safe='')}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: list[dict[str, object]] = json.load(answer)["clients"]
        return found


def fences(cluster: Cluster, name: str) -> list[object]:
    """The fences of those that hold a name."""
    return [client["fence"] for client in clients(cluster, name) if client["state"] == "holds"]


def waits_at(client: Client, name: str) -> list[object]:
    """At which nodes clients wait for a name."""
    return [client["node"] for client in clients(client, name) if client["state"] == "waits"]
