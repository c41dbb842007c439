"""Locks of threads."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import tokenwood
from tokenwood import Client
from tokenwood.testing import Cluster

from .conftest import wait_until


def waiters(client: Client, name: str) -> int:
    """How many clients wait for a name that is taken."""
    with pytest.raises(tokenwood.Taken) as taken:
        client.lock(name).acquire(0)
    assert taken.value.waiting is not None
    return taken.value.waiting


def test_one_thread_at_a_time_holds_a_lock_and_fences_rise(tokenwood_cluster: Cluster, name: str) -> None:
    fences: list[int] = []
    inside = 0

    def work(client: Client) -> None:
        nonlocal inside
        for _ in range(5):
            with client.lock(name, wait=30) as grant:
                inside += 1
                assert inside == 1
                fences.append(grant.fence)
                assert grant.remaining > 0
                time.sleep(0.002)
                assert inside == 1
                inside -= 1

    with tokenwood_cluster.client(0) as one, tokenwood_cluster.client(1) as two:
        with ThreadPoolExecutor(6) as pool:
            for future in [pool.submit(work, client) for client in (one, two) * 3]:
                future.result()
    assert fences == sorted(set(fences)) and len(fences) == 30


def test_a_lock_that_is_taken_names_its_holders(tokenwood_cluster: Cluster, name: str) -> None:
    with tokenwood_cluster.client(label="nightly job") as one, tokenwood_cluster.client(1) as two:
        with one.lock(name) as grant:
            with pytest.raises(tokenwood.Taken) as taken:
                two.lock(name, wait=0).acquire()
            assert taken.value.holders[0]["fence"] == grant.fence
            assert taken.value.holders[0]["label"]["text"] == "nightly job"
            assert taken.value.status == 423 and taken.value.hint
            assert two.lock(name).try_acquire() is None
        free = two.lock(name).try_acquire()
        assert free is not None
        free.release()


def test_a_wait_ends_when_its_time_is_over(tokenwood_client: Client, name: str) -> None:
    with tokenwood_client.lock(name):
        begin = time.monotonic()
        with pytest.raises(TimeoutError) as timed_out:
            tokenwood_client.lock(name, wait=0.3).acquire()
        assert isinstance(timed_out.value, tokenwood.TimedOut) and timed_out.value.holders
        assert 0.3 <= time.monotonic() - begin < 5


def test_a_limit_of_requests_does_not_end_a_wait(tokenwood_cluster: Cluster, name: str) -> None:
    with tokenwood_cluster.client() as holder, tokenwood_cluster.client(longest_request=0.2) as waiter:
        held = holder.lock(name).acquire()
        threading.Timer(1.0, held.release).start()
        begin = time.monotonic()
        with waiter.lock(name):
            assert time.monotonic() - begin > 0.5
        with holder.lock(name), pytest.raises(tokenwood.TimedOut):
            waiter.lock(name, wait=0.5).acquire()


def test_a_session_is_kept_alive_while_a_lock_is_held(tokenwood_cluster: Cluster, name: str) -> None:
    with tokenwood_cluster.client(ttl=1.5) as client, client.lock(name) as grant:
        assert 0 < grant.remaining <= 1.5
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            grant.check()
            time.sleep(0.05)
        assert not grant.lost.is_set()


def test_releasing_twice_does_nothing(tokenwood_client: Client, name: str) -> None:
    grant = tokenwood_client.lock(name).acquire()
    grant.release()
    assert grant.remaining == 0 and not grant.lost.is_set()
    with tokenwood_client.lock(name, wait=5) as other:
        grant.release()
        other.check()
        with pytest.raises(tokenwood.LockLost, match="was released"):
            grant.check()


def test_a_semaphore_has_slots(tokenwood_client: Client, name: str) -> None:
    semaphore = tokenwood_client.semaphore(name, 2)
    with semaphore as one, semaphore as two:
        assert {one.slot, two.slot} == {0, 1}
        assert semaphore.try_acquire() is None
    with pytest.raises(tokenwood.DefinedOtherwise):
        with semaphore:
            tokenwood_client.semaphore(name, 3).acquire(0)


def test_readers_share_and_a_writer_is_alone(tokenwood_client: Client, name: str) -> None:
    book = tokenwood_client.rwlock(name)
    with book.shared(), book.shared(wait=5):
        assert book.exclusive().try_acquire() is None
    with book.exclusive(wait=5):
        assert book.shared().try_acquire() is None


def test_a_room_opens_for_any_of_several_groups(tokenwood_client: Client, name: str) -> None:
    room = tokenwood_client.room(name)
    with room.group("red") as red:
        assert red.group == "red"
        with room.any_of(["blue", "red"], wait=5) as any_of:
            assert any_of.group == "red" and any_of.fence == red.fence
        assert room.group("blue").try_acquire() is None
    with room.group("blue", wait=5) as blue:
        assert blue.group == "blue"


def test_names_may_have_any_letters(tokenwood_client: Client, name: str) -> None:
    strange = f"{name}/a b/ü?x=1&y#z%2F"
    with tokenwood_client.lock(strange, wait=5) as grant:
        assert grant.name == strange


def test_a_decorator_holds_the_lock_during_each_call(tokenwood_client: Client, name: str) -> None:
    @tokenwood_client.lock(name, wait=5)
    def work(number: int, *, more: int) -> int:
        """Works."""
        assert tokenwood_client.lock(name).try_acquire() is None
        return number + more

    assert work(1, more=2) == 3 and work(2, more=3) == 5
    assert work.__doc__ == "Works."


def test_the_exception_of_the_body_wins(tokenwood_cluster: Cluster, name: str) -> None:
    client = tokenwood_cluster.client()
    with pytest.raises(KeyError, match="mine"):
        with client.lock(name) as grant:
            client.close()
            assert grant.lost.wait(5)
            raise KeyError("mine")
    client = tokenwood_cluster.client()
    with pytest.raises(tokenwood.LockLost, match="closed"):
        with client.lock(name, wait=5):
            client.close()


def test_closing_a_client_ends_its_waits(tokenwood_cluster: Cluster, name: str) -> None:
    with tokenwood_cluster.client() as holder, ThreadPoolExecutor() as pool:
        with holder.lock(name):
            client = tokenwood_cluster.client()
            waiting = pool.submit(client.lock(name).acquire)
            wait_until(lambda: waiters(holder, name) == 1)
            client.close()
            with pytest.raises(RuntimeError, match="closed"):
                waiting.result(5)
            wait_until(lambda: waiters(holder, name) == 0)


INTERRUPTED = """
import sys, tokenwood
try:
    tokenwood.lock(sys.argv[1]).acquire()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.stdin.read()
"""


def test_an_interrupt_leaves_the_queue(tokenwood_cluster: Cluster, name: str) -> None:
    environment = {"TOKENWOOD_HTTP": ",".join(tokenwood_cluster.endpoints)}
    command = [sys.executable, "-c", INTERRUPTED, name]
    with tokenwood_cluster.client(1) as client, client.lock(name):
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            wait_until(lambda: waiters(client, name) == 1)
            process.send_signal(signal.SIGINT)
            assert process.stdout is not None
            assert process.stdout.readline() == "interrupted\n"
            wait_until(lambda: waiters(client, name) == 0)
            process.communicate("")


def test_a_program_that_ends_releases_its_locks(tokenwood_cluster: Cluster, name: str) -> None:
    environment = {"TOKENWOOD_HTTP": ",".join(tokenwood_cluster.endpoints)}
    program = f"import tokenwood; tokenwood.lock({name!r}).acquire()"
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=20)
    with tokenwood_cluster.client(1) as client, client.lock(name, wait=0):
        pass
