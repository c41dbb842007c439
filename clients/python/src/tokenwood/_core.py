"""What a client does at the nodes: open sessions, acquire, fail over.

Everything here runs in the thread of the client's event loop.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Coroutine
from typing import Any

from ._errors import Error, LockLost, Stale, Taken, TimedOut, Unavailable, error_of
from ._http import Answer, Door, lock_path
from ._session import Held, Session

# A request that is to wait for ever says so.
FOR_EVER = 365 * 86_400.0
# How much later than a request's own timeout its answer may come.
GRACE = 5.0
# A node that opens no session within this time is passed over.
OPEN_TIMEOUT = 3.0
# An answer that needs no waiting comes within this time.
LONGEST_ANSWER = 15.0
# After all endpoints failed, wait this long before the next round.
PAUSE = 0.2


class _Moved(Exception):
    """The session cannot go on: ask in a new one, at the next node."""


class _Again(Exception):
    """The node did not carry the request out: ask once more in the same session."""


class Attempt:
    """An acquire that its caller may abandon. What it brings after that is released."""

    def __init__(self) -> None:
        self.abandoned = False
        self.held: Held | None = None
        self.task: asyncio.Task[Any] | None = None


class Core:
    """The sessions of a client."""

    def __init__(
        self, doors: list[Door], ttl: float, label: str | None, reach: float, longest_request: float | None
    ) -> None:
        self._doors = doors
        self._ttl = ttl
        self._label = label
        self._reach = reach
        self._longest_request = longest_request
        self._next_door = 0
        self._sessions: set[Session] = set()
        self._current: Session | None = None
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    async def acquire(
        self, attempt: Attempt, name: str, options: dict[str, Any], wait: float | None
    ) -> Held:
        """Acquires for a caller that may abandon the attempt."""
        attempt.task = asyncio.current_task()
        if attempt.abandoned:
            raise asyncio.CancelledError
        held = await self._acquire(name, options, wait)
        if attempt.abandoned:
            self._spawn(self._release_quietly(held))
        attempt.held = held
        return held

    def abandon(self, attempt: Attempt) -> None:
        """Leaves the queue, or releases what was granted meanwhile."""
        if attempt.abandoned:
            return
        attempt.abandoned = True
        if attempt.held is not None:
            self._spawn(self._release_quietly(attempt.held))
        elif attempt.task is not None:
            attempt.task.cancel()

    async def close(self) -> None:
        """Ends all sessions, and with them everything they hold."""
        self._closing = True
        self._current = None
        await asyncio.gather(*(session.close() for session in self._sessions))
        for door in self._doors:
            door.close()

    async def _acquire(self, name: str, options: dict[str, Any], wait: float | None) -> Held:
        until = None if wait is None else time.monotonic() + wait
        trouble = _Trouble(self._reach, len(self._doors), until)
        while True:
            session = await self._session(trouble)
            asked = time.monotonic()
            try:
                return await self._ask(session, name, options, until)
            except _Again:
                continue
            except TimedOut:
                if until is None or time.monotonic() < until:
                    continue  # The limit of one request is over, not that of the caller.
                raise
            except Taken as taken:
                if not wait:
                    raise
                # After a failure no time was left to wait at the next node.
                raise TimedOut(str(taken), taken.problem) from None
            except _Moved as moved:
                self._leave(session)
                if time.monotonic() - asked > 1.0:
                    trouble.begin_again()
                await trouble.met(moved)

    async def _session(self, trouble: _Trouble) -> Session:
        """The current session, or a new one at the first node that opens one."""
        while True:
            async with self._opening:
                if self._closing:
                    raise RuntimeError("the client was closed")
                if self._current is not None and not self._current.over:
                    return self._current
                if self._current is not None and self._current.failed:
                    self._leave(self._current)
                try:
                    session = await self._open(self._doors[self._next_door % len(self._doors)])
                    self._sessions = {other for other in self._sessions if not other.over} | {session}
                    self._current = session
                    return session
                except _Moved as moved:
                    self._next_door += 1
                    why = moved
            # Not within the lock: others may have less time.
            await trouble.met(why)

    async def _open(self, door: Door) -> Session:
        body: dict[str, Any] = {"ttl": f"{round(self._ttl * 1000)}ms"}
        if self._label is not None:
            body["label"] = self._label
        sent = time.monotonic()
        try:
            answer = await asyncio.wait_for(door.request("POST", "/v1/sessions", body), OPEN_TIMEOUT)
        except ConnectionError as error:
            raise _Moved(Unavailable(str(error))) from None
        except asyncio.TimeoutError:
            raise _Moved(Unavailable(f"{door.url} did not answer")) from None
        if answer.status >= 500:
            raise _Moved(error_of(answer.status, answer.document))
        if answer.status != 201:
            raise error_of(answer.status, answer.document)
        return Session(door, answer.document, sent)

    def _leave(self, session: Session) -> None:
        """Asks no more in a session. It goes on for as long as it holds something."""
        session.current = False
        if self._current is session:
            self._current = None
            self._next_door += 1

    async def _ask(
        self, session: Session, name: str, options: dict[str, Any], until: float | None
    ) -> Held:
        wait = FOR_EVER if until is None else max(0.0, until - time.monotonic())
        if self._longest_request is not None:
            wait = min(wait, self._longest_request)
        body = {"session": session.id, **options}
        key = str(uuid.uuid4())
        session.waiting += 1
        certain = False  # Whether it is certain that no grant is left behind.
        try:
            sent, answer = await self._answer(session, lock_path(name, "/acquire"), body, key, wait)
            certain = True
            return self._granted(session, sent, answer)
        finally:
            session.waiting -= 1
            if not certain and not session.over:
                self._spawn(self._withdraw(session, name, key))

    async def _answer(
        self, session: Session, path: str, body: dict[str, Any], key: str, wait: float
    ) -> tuple[float, Answer]:
        """The answer to an acquire, and when it was sent. The key makes it safe to send it twice."""
        begun = time.monotonic()
        guard = begun + wait + (GRACE if wait > 0 else LONGEST_ANSWER)
        cut: Exception | None = None
        for _ in range(2):
            sent = time.monotonic()
            left = max(0.0, wait - (sent - begun))
            body = {**body, "wait": f"{round(left * 1000)}ms"}
            try:
                answer = await session.request("POST", path, body, key, timeout=guard - sent)
            except ConnectionError as error:
                cut = error
                continue
            if answer is not None:
                return sent, answer
            if session.over:
                raise _Moved(LockLost("the session ended while the request waited"))
            raise _Moved(Unavailable(f"{session.door.url} did not answer in time"))
        raise _Moved(Unavailable(str(cut)))

    def _granted(self, session: Session, sent: float, answer: Answer) -> Held:
        if answer.status == 200:
            if session.over:
                raise _Moved(LockLost("the session ended before the grant arrived"))
            session.promised(sent, answer.document)
            if session.deadline <= time.monotonic():
                # This program stood still for longer than the promise lasts.
                session.end(LockLost("the grant expired before the client saw it"))
                raise _Moved(LockLost("the grant expired before the client saw it"))
            held = Held(session, answer.document)
            session.held.add(held)
            return held
        error = error_of(answer.status, answer.document)
        if isinstance(error, Stale):
            # Of two requests that came at once, the member may have heard the second one first.
            raise _Again
        if isinstance(error, LockLost):
            session.end(error)
        if isinstance(error, (LockLost, Unavailable)):
            raise _Moved(error)
        raise error

    async def _withdraw(self, session: Session, name: str, key: str) -> None:
        """Makes sure that a request whose answer nobody heard leaves no grant behind."""
        for _ in range(20):
            if session.over:
                return
            try:
                answer = await asyncio.wait_for(
                    session.door.request("DELETE", lock_path(name), None, key), LONGEST_ANSWER
                )
            except (ConnectionError, asyncio.TimeoutError):
                await asyncio.sleep(PAUSE)
                continue
            if answer.status < 500:
                return  # 204; or 404: it never came there, and takes nothing if it comes late.
            await asyncio.sleep(PAUSE)

    async def _release_quietly(self, held: Held) -> None:
        try:
            await held.session.release(held)
        except Error:
            pass  # It is gone, which is what was wanted.

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Trouble:
    """Counts failures of one acquire, and gives up when no node can be reached for too long."""

    def __init__(self, reach: float, doors: int, until: float | None) -> None:
        self._reach = reach
        self._doors = doors
        self._until = until
        self._failures = 0
        self._since: float | None = None

    def begin_again(self) -> None:
        self._failures, self._since = 0, None

    async def met(self, moved: _Moved) -> None:
        """One more failure. Raises its cause if there were too many."""
        now = time.monotonic()
        self._failures += 1
        self._since = now if self._since is None else self._since
        late = now - self._since >= self._reach or (self._until is not None and now >= self._until)
        cause = moved.args[0]
        if self._failures >= self._doors and late:
            raise cause if isinstance(cause, Unavailable) else Unavailable(str(cause), cause.problem)
        if self._failures % self._doors == 0:
            await asyncio.sleep(PAUSE)
