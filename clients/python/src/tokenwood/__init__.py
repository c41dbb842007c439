"""Locks of a Tokenwood cluster, for threads and asyncio.

    with tokenwood.lock("backup", wait=10) as grant:
        ...

    async with tokenwood.lock("backup", wait=10) as grant:
        ...

The functions of this module use one client, made from the environment: see `Client.from_environment`.
"""

from __future__ import annotations

import threading

from ._client import Client
from ._errors import (
    BadRequest,
    DefinedOtherwise,
    Error,
    LockLost,
    NotAllowed,
    NotFound,
    QuotaUsedUp,
    Taken,
    TimedOut,
    Unavailable,
)
from ._grants import AsyncGrant, Grant
from ._locks import Lock, Room, RwLock

__all__ = [
    "AsyncGrant",
    "BadRequest",
    "Client",
    "DefinedOtherwise",
    "Error",
    "Grant",
    "Lock",
    "LockLost",
    "NotAllowed",
    "NotFound",
    "QuotaUsedUp",
    "Room",
    "RwLock",
    "Taken",
    "TimedOut",
    "Unavailable",
    "default_client",
    "lock",
    "locked",
    "room",
    "rwlock",
    "semaphore",
]

__version__ = "0.1.0"

_default: Client | None = None
_making = threading.Lock()


def default_client() -> Client:
    """The client that the functions of this module use."""
    global _default
    with _making:
        if _default is None:
            _default = Client.from_environment()
        return _default


def lock(name: str, *, wait: float | None = None) -> Lock:
    """A lock that one client holds at a time. See `Client.lock`."""
    return default_client().lock(name, wait=wait)


def locked(name: str, *, wait: float | None = None) -> Lock:
    """The same, to be read as a decorator: `@tokenwood.locked("backup")`."""
    return default_client().lock(name, wait=wait)


def semaphore(name: str, slots: int, *, wait: float | None = None) -> Lock:
    """A lock that `slots` clients hold at once. See `Client.semaphore`."""
    return default_client().semaphore(name, slots, wait=wait)


def rwlock(name: str) -> RwLock:
    """A read-write lock. See `Client.rwlock`."""
    return default_client().rwlock(name)


def room(name: str) -> Room:
    """A room. See `Client.room`."""
    return default_client().room(name)
