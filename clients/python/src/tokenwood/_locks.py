"""Locks of all kinds, for threads and for tasks."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ._errors import Taken
from ._grants import AsyncGrant, Grant

if TYPE_CHECKING:
    from ._client import Client

F = TypeVar("F", bound=Callable[..., Any])


class _Usual:
    """Stands for the `wait` that the lock was made with."""


_USUAL = _Usual()


class Lock:
    """A name that can be acquired: by `with`, by `async with`, as a decorator, or by `acquire`.

    It may be used by many threads and tasks at once. It cannot be acquired twice by one of them: the second
    waits for the first.
    """

    def __init__(self, client: Client, name: str, options: dict[str, Any], wait: float | None) -> None:
        if wait is not None and wait < 0:
            raise ValueError("wait is a number of seconds, or None to wait for ever")
        self._client = client
        self._options = options
        self._wait = wait
        self.name = name
        # What is held by `with`, for each thread and for each task.
        self._held_by_thread = threading.local()
        self._held_by_task: dict[asyncio.Task[Any] | None, list[AsyncGrant]] = {}

    def acquire(self, wait: float | None | _Usual = _USUAL) -> Grant:
        """Acquires it. Raises `Taken` if `wait` is 0 and another client holds it, or `TimedOut`."""
        runner = self._client.runner()
        return Grant(runner, runner.acquire(self.name, self._options, self._seconds(wait)))

    def try_acquire(self) -> Grant | None:
        """Acquires it if it is free now."""
        try:
            return self.acquire(0)
        except Taken:
            return None

    async def acquire_async(self, wait: float | None | _Usual = _USUAL) -> AsyncGrant:
        """Acquires it, for a task. A task that is cancelled leaves the queue."""
        runner = self._client.runner()
        return AsyncGrant(runner, await runner.acquire_async(self.name, self._options, self._seconds(wait)))

    async def try_acquire_async(self) -> AsyncGrant | None:
        """Acquires it if it is free now, for a task."""
        try:
            return await self.acquire_async(0)
        except Taken:
            return None

    def __enter__(self) -> Grant:
        grant = self.acquire()
        self._stack().append(grant)
        return grant

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        grant = self._stack().pop()
        try:
            grant.release()
        except Exception:
            # What went wrong in the body is what its author has to know.
            if error is None:
                raise

    async def __aenter__(self) -> AsyncGrant:
        grant = await self.acquire_async()
        self._held_by_task.setdefault(asyncio.current_task(), []).append(grant)
        grant.enter()
        return grant

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        grants = self._held_by_task[task]
        grant = grants.pop()
        if not grants:
            del self._held_by_task[task]
        only_lost = await grant.leave(error)
        try:
            await grant.release()
        except Exception:
            if error is None:
                raise
        if only_lost:
            raise grant.why_lost() from None

    def __call__(self, function: F) -> F:
        """Has a function, or a coroutine function, hold it during each call."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def locked_async(*args: Any, **named: Any) -> Any:
                async with self:
                    return await function(*args, **named)

            return cast(F, locked_async)

        @functools.wraps(function)
        def locked(*args: Any, **named: Any) -> Any:
            with self:
                return function(*args, **named)

        return cast(F, locked)

    def _seconds(self, wait: float | None | _Usual) -> float | None:
        return self._wait if isinstance(wait, _Usual) else wait

    def _stack(self) -> list[Grant]:
        if not hasattr(self._held_by_thread, "grants"):
            self._held_by_thread.grants = []
        return cast("list[Grant]", self._held_by_thread.grants)


class RwLock:
    """A read-write lock: many share it, or one holds it alone."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    def shared(self, *, wait: float | None = None) -> Lock:
        """Together with others that share it."""
        return Lock(self._client, self.name, {"mode": "shared"}, wait)

    def exclusive(self, *, wait: float | None = None) -> Lock:
        """Alone."""
        return Lock(self._client, self.name, {"mode": "exclusive"}, wait)


class Room:
    """A room: clients of one group at a time are in it."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    def group(self, group: str, *, wait: float | None = None) -> Lock:
        """Together with others of this group."""
        return self.any_of([group], wait=wait)

    def any_of(self, groups: Sequence[str], *, wait: float | None = None) -> Lock:
        """In any of these groups: `grant.group` tells which."""
        return Lock(self._client, self.name, {"group": list(groups)}, wait)
