"""The agent of this client for the conformance suite: `tokenwood conformance --agent …`.

It reads one JSON command on each line, and writes one JSON event on each line; docs/conformance.md of Tokenwood
describes both. With `--asyncio` it uses the client in tasks, without in threads.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from typing import Any

import tokenwood

_writing = threading.Lock()


def say(document: dict[str, Any]) -> None:
    with _writing:
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()


def event(id: int, name: str, at: int | None = None, **facts: Any) -> None:
    """Tells the suite of an event that happened now, unless it says when."""
    say({"id": id, "event": name, "at": time.monotonic_ns() if at is None else at, **facts})


def make_client(command: dict[str, Any]) -> tokenwood.Client:
    return tokenwood.Client(command["doors"], ttl=command["ttl_ms"] / 1000, label=command["label"])


def lock_of(client: tokenwood.Client, command: dict[str, Any]) -> tokenwood.Lock:
    name = command["lock"]
    if command.get("groups"):
        return client.room(name).any_of(command["groups"])
    if command.get("mode") == "shared":
        return client.rwlock(name).shared()
    if command.get("mode") == "exclusive":
        return client.rwlock(name).exclusive()
    if command.get("slots"):
        return client.semaphore(name, command["slots"])
    return client.lock(name)


def wait_of(command: dict[str, Any]) -> float | None:
    wait = command.get("wait_ms")
    return None if wait is None else wait / 1000


def granted(id: int, grant: tokenwood.Grant | tokenwood.AsyncGrant) -> None:
    event(id, "granted", fence=grant.fence, slot=grant.slot, group=grant.group)


def not_granted(id: int, error: BaseException) -> None:
    outcomes: list[tuple[type[BaseException], str]] = [
        (tokenwood.Taken, "taken"),
        (tokenwood.TimedOut, "timed-out"),
        (tokenwood.DefinedOtherwise, "refused"),
        (tokenwood.Unavailable, "unavailable"),
    ]
    outcome = next((name for kind, name in outcomes if isinstance(error, kind)), "failed")
    holders = getattr(error, "holders", [])
    event(id, outcome, why=f"{type(error).__name__}: {error}", holders=[json.dumps(it) for it in holders])


def released(id: int, at: int, error: BaseException | None) -> None:
    if error is None:
        event(id, "released", at)
    elif isinstance(error, tokenwood.LockLost):
        event(id, "lost", at, why=str(error))
    else:
        event(id, "unavailable", at, why=str(error))


def checked(id: int, grant: tokenwood.Grant | tokenwood.AsyncGrant | None) -> None:
    try:
        if grant is None:
            raise tokenwood.LockLost("nothing was granted")
        grant.check()
        event(id, "held")
    except tokenwood.LockLost as error:
        event(id, "lost", why=str(error))


class Threads:
    """Acquires and watches in threads."""

    client: tokenwood.Client

    def __init__(self) -> None:
        self.grants: dict[int, tokenwood.Grant] = {}

    def run(self) -> None:
        cannot = {"cancel": "a thread that waits cannot be interrupted by another one"}
        say({"event": "hello", "protocol": 1, "client": "Python: tokenwood, in threads", "cannot": cannot})
        for line in sys.stdin:
            self.obey(json.loads(line))
        if hasattr(self, "client"):
            self.client.close()

    def obey(self, command: dict[str, Any]) -> None:
        id, what, grant = command["id"], command["do"], self.grants.get(command.get("of", 0))
        if what == "open":
            self.client = make_client(command)
            self.grants.clear()
            event(id, "opened")
        elif what == "acquire":
            threading.Thread(target=self.acquire, args=(command,), daemon=True).start()
        elif what == "check":
            checked(id, grant)
        elif what == "release" and grant is not None:
            self.release(id, grant)
        elif what == "close":
            self.client.close()
            event(id, "closed")
        else:
            event(id, "cannot", why=f"there is no way to {what}")

    def acquire(self, command: dict[str, Any]) -> None:
        id = command["id"]
        try:
            grant = lock_of(self.client, command).acquire(wait_of(command))
        except Exception as error:
            return not_granted(id, error)
        self.grants[id] = grant
        granted(id, grant)
        grant.lost.wait()
        event(id, "lost")

    def release(self, id: int, grant: tokenwood.Grant) -> None:
        at = time.monotonic_ns()
        try:
            grant.release()
            released(id, at, None)
        except tokenwood.Error as error:
            released(id, at, error)


class Tasks:
    """Acquires and watches in tasks of asyncio."""

    client: tokenwood.Client

    def __init__(self) -> None:
        self.grants: dict[int, tokenwood.AsyncGrant] = {}
        self.tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        say({"event": "hello", "protocol": 1, "client": "Python: tokenwood, in tasks of asyncio", "cannot": {}})
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str] = asyncio.Queue()

        def read() -> None:
            for line in sys.stdin:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, "")

        threading.Thread(target=read, daemon=True).start()
        while line := await lines.get():
            await self.obey(json.loads(line))
        for task in self.tasks.values():
            task.cancel()
        if hasattr(self, "client"):
            await asyncio.to_thread(self.client.close)

    async def obey(self, command: dict[str, Any]) -> None:
        id, what, of = command["id"], command["do"], command.get("of", 0)
        grant = self.grants.get(of)
        if what == "open":
            self.client = make_client(command)
            self.grants.clear()
            event(id, "opened")
        elif what == "acquire":
            self.tasks[id] = asyncio.create_task(self.acquire(command))
        elif what == "cancel":
            self.tasks[of].cancel()
            await asyncio.wait({self.tasks[of]})
            event(id, "done")
        elif what == "check":
            checked(id, grant)
        elif what == "release" and grant is not None:
            await self.release(id, grant)
        elif what == "close":
            await asyncio.to_thread(self.client.close)
            event(id, "closed")
        else:
            event(id, "cannot", why=f"there is no way to {what}")

    async def acquire(self, command: dict[str, Any]) -> None:
        id = command["id"]
        try:
            grant = await lock_of(self.client, command).acquire_async(wait_of(command))
        except asyncio.CancelledError:
            return event(id, "cancelled")
        except Exception as error:
            return not_granted(id, error)
        self.grants[id] = grant
        granted(id, grant)
        await grant.lost.wait()
        event(id, "lost")

    async def release(self, id: int, grant: tokenwood.AsyncGrant) -> None:
        at = time.monotonic_ns()
        try:
            await grant.release()
            released(id, at, None)
        except tokenwood.Error as error:
            released(id, at, error)


if __name__ == "__main__":
    if "--asyncio" in sys.argv[1:]:
        asyncio.run(Tasks().run())
    else:
        Threads().run()
