"""The client of a cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from ._core import Core
from ._errors import Error, LockLost, Unavailable
from ._grants import AsyncGrant, BaseGrant, Grant
from ._http import Door
from ._locks import Lock, Room, RwLock
from ._runner import Runner

T = TypeVar("T")
log = logging.getLogger("tokenwood")

USUAL_ENDPOINTS = ("http://127.0.0.1:7720", "http://127.0.0.1:7721", "http://127.0.0.1:7722")


class Client:
    """A client of a cluster, for threads and for tasks of any event loop.

    - `endpoints`: the URLs of the nodes' HTTP doors. The client uses the first that answers, and moves to
      the next if its node cannot be reached any more. What it held at the old node is lost then.
    - `token`, or `certificate` and `key`: who the client is, in a cluster with rights.
    - `ca`: a file with the certificates that the nodes' certificates are checked against.
    - `ttl`: how long what it holds stays taken if the program ends without a word.
    - `label`: anything that helps people to know the client again.
    - `reach`: how long to look for a node that answers before an acquire raises `Unavailable`.
    - `longest_request`: the longest time that one HTTP request waits. Set it only if a proxy on the way
      cuts requests that wait: each new request begins at the end of the queue.
    """

    def __init__(
        self,
        endpoints: Sequence[str] = USUAL_ENDPOINTS,
        *,
        token: str | None = None,
        ca: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        ttl: float = 10.0,
        label: str | None = None,
        reach: float = 30.0,
        longest_request: float | None = None,
    ) -> None:
        if isinstance(endpoints, str) or not endpoints:
            raise ValueError("endpoints is a list of URLs, with one at least")
        if longest_request is not None and longest_request <= 0:
            raise ValueError("longest_request is a number of seconds above 0")
        context = None
        if ca is not None or certificate is not None:
            context = ssl.create_default_context(cafile=ca)
        if context is not None and certificate is not None:
            context.load_cert_chain(certificate, key)
        self.endpoints = tuple(endpoints)

        def make_core() -> Core:
            doors = [Door(endpoint, token, context) for endpoint in self.endpoints]
            return Core(doors, ttl, label, reach, longest_request)

        make_core()  # Wrong URLs are refused now, and not at the first lock.
        self._make_core = make_core
        self._runner: Runner | None = None
        self._starting = threading.Lock()
        self._closed = False

    @classmethod
    def from_environment(cls) -> Client:
        """A client by TOKENWOOD_HTTP (URLs with commas between them), TOKENWOOD_TOKEN, TOKENWOOD_CA,
        TOKENWOOD_CERTIFICATE and TOKENWOOD_KEY."""
        urls = [url.strip() for url in os.environ.get("TOKENWOOD_HTTP", "").split(",")]
        return cls(
            [url for url in urls if url] or USUAL_ENDPOINTS,
            token=os.environ.get("TOKENWOOD_TOKEN") or None,
            ca=_path("TOKENWOOD_CA"),
            certificate=_path("TOKENWOOD_CERTIFICATE"),
            key=_path("TOKENWOOD_KEY"),
        )

    def lock(self, name: str, *, wait: float | None = None) -> Lock:
        """A lock that one client holds at a time.

        `wait` is a number of seconds; 0 tries, and None waits for ever.
        """
        return Lock(self, name, {}, wait)

    def semaphore(self, name: str, slots: int, *, wait: float | None = None) -> Lock:
        """A lock that `slots` clients hold at once."""
        return Lock(self, name, {"slots": slots}, wait)

    def rwlock(self, name: str) -> RwLock:
        """A read-write lock: take it `.shared()` or `.exclusive()`."""
        return RwLock(self, name)

    def room(self, name: str) -> Room:
        """A room: enter it with `.group(…)` or `.any_of([…])`."""
        return Room(self, name)

    def lead(self, name: str, work: Callable[[Grant], T]) -> T:
        """Calls `work` when this client leads, and again after each loss, until it returns as the leader.

        `work` has to return or raise soon after `grant.lost` is set: another leader begins then.
        """
        while True:
            grant = None
            try:
                with self.lock(name) as grant:
                    return work(grant)
            except (LockLost, Unavailable) as error:
                if _is_of_the_work(error, grant, name):
                    raise
            if grant is None:
                time.sleep(1.0)

    async def lead_async(self, name: str, work: Callable[[AsyncGrant], Awaitable[T]]) -> T:
        """Like `lead`, for a task. A loss cancels `work`."""
        while True:
            grant = None
            try:
                async with self.lock(name) as grant:
                    return await work(grant)
            except (LockLost, Unavailable) as error:
                if _is_of_the_work(error, grant, name):
                    raise
            if grant is None:
                await asyncio.sleep(1.0)

    def close(self) -> None:
        """Releases everything. A program that ends does so by itself."""
        with self._starting:
            self._closed = True
            runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def runner(self) -> Runner:
        """The thread of this client. A process that was forked gets its own, and holds nothing in it yet."""
        with self._starting:
            if self._closed:
                raise RuntimeError("the client was closed")
            if self._runner is None or self._runner.pid != os.getpid():
                self._runner = Runner(self._make_core)
            return self._runner


def _is_of_the_work(error: Error, grant: BaseGrant | None, name: str) -> bool:
    """Whether an error comes from what the leader did, and not from the election."""
    if grant is not None and not (isinstance(error, LockLost) and grant.was_lost):
        return True
    log.warning("not the leader of '%s': %s", name, error)
    return False


def _path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None
