"""What can go wrong, as exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Problem = Mapping[str, Any]


class Error(Exception):
    """A request that failed.

    `problem` is the problem document of the node (RFC 9457). It is empty if no node answered.
    """

    def __init__(self, detail: str, problem: Problem | None = None) -> None:
        super().__init__(detail)
        self.problem: Problem = problem or {}

    @property
    def status(self) -> int | None:
        """The HTTP status, if a node answered."""
        status = self.problem.get("status")
        return status if isinstance(status, int) else None

    @property
    def hint(self) -> str | None:
        """What to do next."""
        hint = self.problem.get("hint")
        return hint if isinstance(hint, str) else None


class _NotGranted(Error):
    @property
    def holders(self) -> list[dict[str, Any]]:
        """The clients that hold the name, the longest first; empty if the caller may not read it."""
        return list(self.problem.get("holders") or [])

    @property
    def waiting(self) -> int | None:
        """How many clients wait for the name."""
        waiting = self.problem.get("waiting")
        return waiting if isinstance(waiting, int) else None


class Taken(_NotGranted):
    """Another client holds the lock, and `wait` is 0."""


class TimedOut(_NotGranted, TimeoutError):
    """The lock was not free in time."""


class LockLost(Error):
    """The grant is gone: it expired, was revoked, or went with its node. Stop what it protects."""


class Stale(LockLost):
    """The grant, or the number of the request, is an older one."""


class NotAllowed(Error):
    """The caller shows no token or certificate, or one without the right."""


class QuotaUsedUp(Error):
    """A quota of the namespace is used up."""


class DefinedOtherwise(Error):
    """The name is a lock of another kind, or has another number of slots."""


class NotFound(Error):
    """There is no such thing."""


class BadRequest(Error):
    """The node does not understand the request, or cannot do this ever."""


class Unavailable(Error):
    """No node can do this now, or none can be reached."""


_BY_TYPE: dict[str, type[Error]] = {
    "taken": Taken,
    "timed-out": TimedOut,
    "lost": LockLost,
    "no-token": NotAllowed,
    "not-allowed": NotAllowed,
    "quota": QuotaUsedUp,
    "defined-otherwise": DefinedOtherwise,
    "stale": Stale,
    "wrong-node": LockLost,
    "not-found": NotFound,
    "unavailable": Unavailable,
}


def error_of(status: int, problem: Problem) -> Error:
    """The exception for an answer that is not a success."""
    name = str(problem.get("type", "")).rpartition(":")[2]
    fallback = Unavailable if status >= 500 else BadRequest
    detail = problem.get("detail") or problem.get("title") or f"the node answered with status {status}"
    return _BY_TYPE.get(name, fallback)(str(detail), {"status": status, **problem})
