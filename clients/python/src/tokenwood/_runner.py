"""The thread in which a client's event loop runs.

Threads and tasks share one implementation. Renewals go on while the program's own event loop is busy.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ._core import Attempt, Core
from ._session import Held, lost

T = TypeVar("T")

# A program that ends waits no longer than this for its locks to be released.
CLOSE_TIMEOUT = 3.0


class Runner:
    """Runs a core in a thread of its own."""

    def __init__(self, make_core: Callable[[], Core]) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tokenwood", daemon=True)
        self._core = make_core()
        self._closed = False
        self._thread.start()
        _running.add(self)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(_end_tasks())
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Has the thread do something, and waits for it."""
        return self._submit(work).result()

    def call_async(self, work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Has the thread do something, for a task of another loop."""
        return asyncio.wrap_future(self._submit(work))

    def acquire(self, name: str, options: dict[str, Any], wait: float | None) -> Held:
        """Acquires, for a thread. An interrupt leaves the queue."""
        attempt = Attempt()
        try:
            return self.call(self._core.acquire(attempt, name, options, wait))
        except concurrent.futures.CancelledError:
            raise RuntimeError("the client was closed") from None
        except BaseException:
            self._abandon(attempt)
            raise

    async def acquire_async(self, name: str, options: dict[str, Any], wait: float | None) -> Held:
        """Acquires, for a task. A cancellation leaves the queue."""
        attempt = Attempt()
        try:
            return await self.call_async(self._core.acquire(attempt, name, options, wait))
        except BaseException as error:
            if self._closed and isinstance(error, asyncio.CancelledError):
                raise RuntimeError("the client was closed") from None
            self._abandon(attempt)
            raise

    def release(self, held: Held) -> None:
        """Releases a grant, for a thread."""
        if not self._is_gone(held):
            self.call(held.session.release(held))

    async def release_async(self, held: Held) -> None:
        """Releases a grant, for a task. A task that is cancelled meanwhile does not keep the grant."""
        if not self._is_gone(held):
            await asyncio.shield(self.call_async(held.session.release(held)))

    def _is_gone(self, held: Held) -> bool:
        """Whether there is nothing to release, because the client was closed."""
        if self._closed and not held.released:
            held.released = True
            raise lost(held)
        return self._closed

    def on_loss(self, held: Held, tell: Callable[[], None]) -> None:
        """Tells of the loss of a grant, also if it is lost already."""

        def register() -> None:
            held.on_loss.append(tell)
            if held.why_lost is not None:
                tell()

        self._loop.call_soon_threadsafe(register)

    def close(self) -> None:
        """Ends all sessions and the thread."""
        if self._closed or self.pid != os.getpid():
            return
        self._closed = True
        try:
            self._submit_any(self._core.close()).result(CLOSE_TIMEOUT)
        except (Exception, concurrent.futures.CancelledError):
            pass  # The sessions expire by themselves.
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_TIMEOUT)

    def _abandon(self, attempt: Attempt) -> None:
        if not self._closed:
            self._loop.call_soon_threadsafe(self._core.abandon, attempt)

    def _submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        if self._closed or self.pid != os.getpid():
            work.close()
            raise RuntimeError("the client was closed, or belongs to the process that forked this one")
        return self._submit_any(work)

    def _submit_any(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)


async def _end_tasks() -> None:
    """Cancels what still runs in this loop, and waits for it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


_running: weakref.WeakSet[Runner] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Locks of a program that ends are free at once, and not when their sessions expire."""
    for runner in list(_running):
        runner.close()
