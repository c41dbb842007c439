"""Grants, as programs see them."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from ._errors import LockLost
from ._session import Held, lost

if TYPE_CHECKING:
    from ._runner import Runner


class BaseGrant:
    """What both kinds of grants have."""

    def __init__(self, runner: Runner, held: Held) -> None:
        self._runner = runner
        self._held = held

    @property
    def name(self) -> str:
        """The name that is locked."""
        return self._held.name

    @property
    def fence(self) -> int:
        """Rises with every grant of the name: have the protected resource check it."""
        return self._held.fence

    @property
    def slot(self) -> int:
        """Which slot of a semaphore it is, from 0 on."""
        return self._held.slot

    @property
    def group(self) -> str | None:
        """The group, in a room."""
        return self._held.group

    @property
    def node(self) -> int:
        """The node that keeps it."""
        return self._held.node

    @property
    def remaining(self) -> float:
        """For how many seconds it is certainly held, whatever happens. Renewals prolong it."""
        return self._held.remaining()

    @property
    def was_lost(self) -> bool:
        """Whether it was lost before it was released."""
        return self._held.why_lost is not None

    def check(self) -> None:
        """Raises `LockLost` if it is not certainly held now."""
        if self.remaining <= 0:
            raise self.why_lost()

    def why_lost(self) -> LockLost:
        """The exception that says why it is not held any more."""
        return lost(self._held)

    def __repr__(self) -> str:
        facts = f"fence={self.fence} slot={self.slot} group={self.group!r}"
        return f"<{type(self).__name__} {self.name!r} {facts}>"


class Grant(BaseGrant):
    """A grant of a thread. `lost` is set when it is lost."""

    def __init__(self, runner: Runner, held: Held) -> None:
        super().__init__(runner, held)
        self.lost = threading.Event()
        runner.on_loss(held, self.lost.set)

    def release(self) -> None:
        """Releases it. Does nothing the second time. Raises `LockLost` if it was lost before."""
        self._runner.release(self._held)


class AsyncGrant(BaseGrant):
    """A grant of a task. `lost` is set when it is lost."""

    def __init__(self, runner: Runner, held: Held) -> None:
        super().__init__(runner, held)
        self.lost = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._scope: asyncio.Task[object] | None = None
        self._cancelled = False
        runner.on_loss(held, self._tell)

    async def release(self) -> None:
        """Releases it. Does nothing the second time. Raises `LockLost` if it was lost before."""
        await self._runner.release_async(self._held)

    def enter(self) -> None:
        """Has a loss cancel the current task from now on."""
        self._scope = asyncio.current_task()
        if self.lost.is_set():
            self._was_lost()

    async def leave(self, error: BaseException | None) -> bool:
        """Ends what `enter` began. Tells whether the error is only that the grant was lost."""
        scope, self._scope = self._scope, None
        if not self._cancelled or scope is None:
            return False
        if not isinstance(error, asyncio.CancelledError):
            try:
                await asyncio.sleep(0)  # The cancellation may not have arrived yet.
            except asyncio.CancelledError:
                pass
        # Python 3.10 does not count cancellations.
        if hasattr(scope, "uncancel") and scope.uncancel() > 0:
            return False  # Another one wants to cancel the task, too.
        return error is None or isinstance(error, asyncio.CancelledError)

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._was_lost)
        except RuntimeError:
            pass  # The loop of the holder is closed: there is nobody to tell.

    def _was_lost(self) -> None:
        self.lost.set()
        if self._scope is not None and not self._cancelled:
            self._cancelled = True
            self._scope.cancel()
