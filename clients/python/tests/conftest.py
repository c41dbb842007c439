"""What the tests share."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from tokenwood.testing import Cluster


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Waits for a condition, with a bound."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"test/{uuid.uuid4()}"


@pytest.fixture
def fragile() -> Iterator[Cluster]:
    """A cluster whose nodes the test may pause and kill."""
    with Cluster(lease="1s") as cluster:
        yield cluster
