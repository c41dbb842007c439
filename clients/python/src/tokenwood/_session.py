"""A session at one node, and what it holds.

Everything here runs in the thread of the client's event loop, so it needs no locks.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from ._errors import Error, LockLost, error_of
from ._http import Answer, Door, lock_path

log = logging.getLogger("tokenwood")

# A session that holds nothing and waits for nothing is closed after this time.
LONGEST_IDLE = 10.0
# How long to wait for the answer to a release before it is left to the next keep-alive.
RELEASE_TIMEOUT = 3.0
# How long to wait for a session to be closed. It is shorter than a program that ends waits for all of them.
CLOSE_TIMEOUT = 1.5
# How long to wait after a keep-alive that failed.
PAUSE = 0.05


class Held:
    """A grant, as its session knows it."""

    def __init__(self, session: Session, document: dict[str, Any]) -> None:
        self.session = session
        self.name: str = document["name"]
        self.secret: str = document["grant"]
        self.fence: int = document["fence"]
        self.slot: int = document["slot"]
        self.group: str | None = document.get("group")
        self.node: int = document["node"]
        self.released = False
        self.why_lost: Error | None = None
        self.on_loss: list[Callable[[], None]] = []

    def remaining(self) -> float:
        """How long it is certainly held from now on, in seconds."""
        if self.released or self.why_lost is not None:
            return 0.0
        return max(0.0, self.session.deadline - time.monotonic())

    def lose(self, why: Error) -> None:
        """It is gone. Tells those who want to know, once."""
        if self.released or self.why_lost is not None:
            return
        self.why_lost = why
        for tell in self.on_loss:
            tell()


def lost(held: Held) -> LockLost:
    """The exception for a grant that was lost."""
    why = held.why_lost
    if held.released and why is None:
        return LockLost(f"the grant of '{held.name}' was released")
    problem = why.problem if why is not None else None
    return LockLost(f"the grant of '{held.name}' was lost: {why or 'its time is over'}", problem)


class Session:
    """Keeps itself alive for as long as it holds something or something waits in it."""

    def __init__(self, door: Door, document: dict[str, Any], sent: float) -> None:
        self.door = door
        self.id: str = document["session"]
        self.deadline = 0.0
        self.held: set[Held] = set()
        self.unreleased: list[Held] = []
        self.waiting = 0
        # A session that is not the client's current one any more gets no new requests.
        self.current = True
        # Whether it ended because of the node: another node may do better.
        self.failed = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._deleting: asyncio.Future[None] | None = None
        self._beat = 1.0
        self._sent = sent
        self._idle_since = sent
        self.promised(sent, document)
        self._keeper = asyncio.create_task(self._keep())

    @property
    def over(self) -> bool:
        """Whether it has ended, or may have."""
        return self.ended.done()

    def promised(self, sent: float, document: dict[str, Any]) -> None:
        """The node promised something in answer to a request sent at that time."""
        certain = document["certain_ms"] / 1000
        self.deadline = max(self.deadline, sent + document["waited_ms"] / 1000 + certain)
        self._beat = certain / 3

    def end(self, why: Error) -> None:
        """It is over: everything in it is lost."""
        if self.over:
            return
        self.failed = True
        self.ended.set_result(None)
        for held in list(self.held):
            held.lose(why)
        self._delete_if_empty()

    async def request(
        self, method: str, path: str, body: dict[str, Any], key: str | None = None, *, timeout: float
    ) -> Answer | None:
        """Asks the node. Hangs up, and returns nothing, when the time is over or the session ends."""
        request = asyncio.ensure_future(self.door.request(method, path, body, key))
        either: set[asyncio.Future[Any]] = {request, self.ended}
        try:
            await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            return request.result() if request.done() else None
        finally:
            request.cancel()

    async def close(self) -> None:
        """Ends it at the node, too, so that everything in it is free at once."""
        if self.over:
            return
        self.end(LockLost("the client was closed"))
        self.failed = False
        self.held.clear()
        self._delete_if_empty()
        if self._deleting is not None:
            await self._deleting

    def _delete_if_empty(self) -> None:
        """Ends it at the node when the program uses nothing of it any more.

        What was lost is certain no more, but may well be held by this client until the session expires.
        To release it earlier, while the program still uses it, would make two holders likelier.
        """
        if self.over and not self.held and self._deleting is None:
            self._deleting = asyncio.ensure_future(self._delete())

    async def _delete(self) -> None:
        try:
            await asyncio.wait_for(self.door.request("DELETE", f"/v1/sessions/{self.id}"), CLOSE_TIMEOUT)
        except (ConnectionError, asyncio.TimeoutError):
            log.debug("the session at %s was not closed, and will expire", self.door.url)

    async def release(self, held: Held) -> None:
        """Releases a grant. Raises `LockLost` if it was lost before."""
        if held.released:
            return
        if not self.over and time.monotonic() >= self.deadline:
            # This program stood still: nothing has noticed yet that the time is over.
            self.end(LockLost("it was not renewed in time"))
        held.released = True
        self.held.discard(held)
        self._delete_if_empty()
        if not self.over:
            refusal = await self._release_now(held)
            held.why_lost = held.why_lost or refusal
        if held.why_lost is not None:
            raise lost(held)

    async def _release_now(self, held: Held) -> Error | None:
        """Returns why the grant was gone already, if it was."""
        answer = None
        for first in (True, False):
            answer = await self._try_release(held)
            if self.over:
                return None  # It was held until now, and expires soon.
            if answer is not None and answer.status < 400:
                return None
            if answer is not None and answer.status in (409, 410, 421):
                # The first may have been carried out although no answer came.
                return error_of(answer.status, answer.document) if first else None
        why = answer or "no answer"
        log.warning("'%s' could not be released at %s yet: %s", held.name, self.door.url, why)
        self.unreleased.append(held)
        return None

    async def _try_release(self, held: Held) -> Answer | None:
        body = {"grant": held.secret}
        try:
            # When the session ends, there is nothing left to release.
            return await self.request("DELETE", lock_path(held.name), body, timeout=RELEASE_TIMEOUT)
        except ConnectionError:
            return None

    async def _keep(self) -> None:
        while not self.over:
            pause = max(0.0, self._sent + self._beat - time.monotonic())
            await asyncio.wait({self.ended}, timeout=pause)
            if self.over:
                return
            if await self._close_if_idle():
                return
            try:
                await self._keep_alive()
            except Exception as error:  # It must not end silently: grants would expire unnoticed.
                log.exception("a keep-alive at %s failed", self.door.url)
                self.end(LockLost(f"the keep-alive failed: {error}"))

    async def _close_if_idle(self) -> bool:
        now = time.monotonic()
        if self.held or self.unreleased or self.waiting:
            self._idle_since = now
            return False
        if self.current and now - self._idle_since < LONGEST_IDLE:
            return False
        await self.close()
        return True

    async def _keep_alive(self) -> None:
        sent = time.monotonic()
        if sent >= self.deadline:
            self.end(LockLost(f"{self.door.url} did not answer in time, so the session may have expired"))
            return
        # The deadline passes even if a request hangs: this is how a loss is noticed in time.
        timeout = min(self._beat, self.deadline - sent)
        request = self.door.request("PUT", f"/v1/sessions/{self.id}")
        try:
            answer = await asyncio.wait_for(request, timeout)
        except (ConnectionError, asyncio.TimeoutError):
            await asyncio.sleep(min(PAUSE, max(0.0, self.deadline - time.monotonic())))
            return
        if answer.status == 503:
            await asyncio.sleep(min(PAUSE, max(0.0, self.deadline - time.monotonic())))
            return
        if answer.status != 200:
            self.end(error_of(answer.status, answer.document))
            return
        self._sent = sent
        self.promised(sent, answer.document)
        self._lose_revoked(answer.document.get("revoked") or [])
        for held in self.unreleased[:]:
            released = await self._try_release(held)
            if released is not None and released.status < 500:
                self.unreleased.remove(held)

    def _lose_revoked(self, revoked: list[dict[str, object]]) -> None:
        grants = {grant.get("grant") for grant in revoked}
        for held in [held for held in self.held if held.secret in grants and held.why_lost is None]:
            held.lose(LockLost("the grant was revoked: an operator released it"))
