"""Locks of tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

import tokenwood
from tokenwood import AsyncGrant, Client
from tokenwood.testing import Cluster


async def wait_for(condition: Callable[[], Awaitable[bool]], seconds: float = 10.0) -> None:
    """Waits for a condition, with a bound."""
    until = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < until, "it did not happen in time"
        await asyncio.sleep(0.01)


async def waiters(client: Client, name: str) -> int:
    """How many clients wait for a name that is taken."""
    with pytest.raises(tokenwood.Taken) as taken:
        await client.lock(name).acquire_async(0)
    assert taken.value.waiting is not None
    return taken.value.waiting


def test_one_task_at_a_time_holds_a_lock_and_fences_rise(tokenwood_client: Client, name: str) -> None:
    fences: list[int] = []
    inside = 0

    async def work() -> None:
        nonlocal inside
        async with tokenwood_client.lock(name, wait=30) as grant:
            inside += 1
            assert inside == 1
            fences.append(grant.fence)
            await asyncio.sleep(0.002)
            inside -= 1

    async def all_work() -> None:
        await asyncio.gather(*(work() for _ in range(30)))

    asyncio.run(all_work())
    assert fences == sorted(set(fences)) and len(fences) == 30


def test_many_tasks_share_one_lock_object(tokenwood_client: Client, name: str) -> None:
    semaphore = tokenwood_client.semaphore(name, 3, wait=10)
    slots: list[int] = []

    async def work() -> None:
        async with semaphore as grant:
            slots.append(grant.slot)
            await asyncio.sleep(0.01)

    async def all_work() -> None:
        await asyncio.gather(*(work() for _ in range(9)))

    asyncio.run(all_work())
    assert len(slots) == 9 and set(slots) <= {0, 1, 2}
    assert not semaphore._held_by_task


def test_try_and_timeout(tokenwood_cluster: Cluster, tokenwood_client: Client, name: str) -> None:
    async def main() -> None:
        async with tokenwood_client.lock(name) as grant:
            async with tokenwood_cluster.client(1) as other_client:
                assert await other_client.lock(name).try_acquire_async() is None
            with pytest.raises(tokenwood.TimedOut):
                await tokenwood_client.lock(name, wait=0.2).acquire_async()
            await grant.release()
            await grant.release()
        other = await tokenwood_client.lock(name).try_acquire_async()
        assert other is not None
        await other.release()

    asyncio.run(main())


def test_a_task_that_is_cancelled_leaves_the_queue(tokenwood_client: Client, name: str) -> None:
    async def main() -> None:
        async with tokenwood_client.lock(name):
            task = asyncio.ensure_future(tokenwood_client.lock(name).acquire_async())

            async def one_waits() -> bool:
                return await waiters(tokenwood_client, name) == 1

            async def nobody_waits() -> bool:
                return await waiters(tokenwood_client, name) == 0

            await wait_for(one_waits)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await wait_for(nobody_waits)

    asyncio.run(main())


def test_tasks_cancelled_at_any_moment_leave_no_grant(tokenwood_client: Client, name: str) -> None:
    async def main() -> None:
        for step in range(40):
            task = asyncio.ensure_future(tokenwood_client.lock(name).acquire_async())
            await asyncio.sleep(step * 0.0003)
            task.cancel()
            try:
                await (await task).release()
            except asyncio.CancelledError:
                pass
        async with tokenwood_client.lock(name, wait=10):
            pass

    asyncio.run(main())


def test_an_exception_of_the_body_and_a_cancellation_pass(tokenwood_client: Client, name: str) -> None:
    async def main() -> None:
        with pytest.raises(KeyError, match="mine"):
            async with tokenwood_client.lock(name):
                raise KeyError("mine")

        async def hold() -> None:
            async with tokenwood_client.lock(name, wait=5):
                await asyncio.sleep(20)
                pytest.fail("the body was not cancelled")

        task = asyncio.ensure_future(hold())

        async def is_held() -> bool:
            grant = await tokenwood_client.lock(name).try_acquire_async()
            if grant is not None:
                await grant.release()
            return grant is None

        await wait_for(is_held)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with tokenwood_client.lock(name, wait=5):
            pass

    asyncio.run(main())


def test_a_decorator_is_for_coroutines_too(tokenwood_client: Client, name: str) -> None:
    @tokenwood_client.lock(name, wait=5)
    async def work(number: int) -> int:
        assert await tokenwood_client.lock(name).try_acquire_async() is None
        return number + 1

    assert asyncio.run(work(1)) == 2


def test_a_loss_cancels_the_body(tokenwood_cluster: Cluster, name: str) -> None:
    client = tokenwood_cluster.client()

    async def main() -> AsyncGrant:
        with pytest.raises(tokenwood.LockLost, match="closed"):
            async with client.lock(name) as grant:
                await asyncio.to_thread(client.close)
                await asyncio.sleep(20)
                pytest.fail("the body was not cancelled")
        assert grant.lost.is_set() and grant.was_lost
        # The task itself goes on.
        await asyncio.sleep(0)
        return grant

    assert asyncio.run(main()).remaining == 0


def test_an_exception_of_the_body_wins_over_a_loss(tokenwood_cluster: Cluster, name: str) -> None:
    client = tokenwood_cluster.client()

    async def main() -> None:
        with pytest.raises(KeyError, match="mine"):
            async with client.lock(name):
                try:
                    await asyncio.to_thread(client.close)
                    await asyncio.sleep(20)
                    pytest.fail("the body was not cancelled")
                except asyncio.CancelledError:
                    raise KeyError("mine") from None
        await asyncio.sleep(0)

    asyncio.run(main())


def test_a_leader_works_until_it_is_done(tokenwood_client: Client, name: str) -> None:
    async def work(grant: AsyncGrant) -> int:
        assert grant.remaining > 0
        return grant.fence

    assert asyncio.run(tokenwood_client.lead_async(name, work)) > 0


def test_a_leader_that_loses_is_elected_again(fragile: Cluster, name: str) -> None:
    nodes: list[int] = []

    async def work(grant: AsyncGrant) -> str:
        nodes.append(grant.node)
        if len(nodes) == 1:
            fragile.nodes[0].kill()
            await asyncio.sleep(20)
            pytest.fail("the body was not cancelled")
        return "done"

    with fragile.client(0) as client:
        assert asyncio.run(client.lead_async(name, work)) == "done"
    assert nodes == [0, 1]


def test_an_error_of_the_leader_ends_the_loop(tokenwood_client: Client, name: str) -> None:
    async def work(grant: AsyncGrant) -> None:
        raise tokenwood.Unavailable("mine")

    with pytest.raises(tokenwood.Unavailable, match="mine"):
        asyncio.run(tokenwood_client.lead_async(name, work))
