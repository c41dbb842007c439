"""A real cluster for tests: a context manager, and fixtures of pytest.

    def test_backup(tokenwood_client):
        with tokenwood_client.lock("backup", wait=10):
            ...

The program is found by TOKENWOOD_PROGRAM, or as `tokenwood` on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import pytest

from ._client import Client

START_TIMEOUT = 30.0
END_TIMEOUT = 10.0


@dataclass(frozen=True)
class Node:
    """A node of the cluster."""

    id: int
    pid: int
    url: str

    def kill(self) -> None:
        """Ends it without a word."""
        os.kill(self.pid, signal.SIGKILL)

    def pause(self) -> None:
        """Stops it until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Has it go on."""
        os.kill(self.pid, signal.SIGCONT)


class Cluster:
    """A cluster of `tokenwood dev`, each node a process. It ends with the `with` block."""

    def __init__(self, *, nodes: int = 3, lease: str = "3s", secure: bool = False) -> None:
        self._options = ["--nodes", str(nodes), "--lease", lease, *(["--secure"] if secure else [])]
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.nodes: list[Node] = []
        self.ca: str | None = None
        self.certificate: str | None = None
        self.key: str | None = None
        self.token: str | None = None

    @property
    def endpoints(self) -> list[str]:
        """The URLs of all nodes."""
        return [node.url for node in self.nodes]

    def client(self, first: int = 0, **options: Any) -> Client:
        """A client that begins at this node."""
        options = {"ca": self.ca, "token": self.token, **options}
        return Client(self.endpoints[first:] + self.endpoints[:first], **options)

    def __enter__(self) -> Cluster:
        self._folder = tempfile.TemporaryDirectory(prefix="tokenwood-")
        ready, output = Path(self._folder.name, "ready.json"), Path(self._folder.name, "output")
        command = [_program(), "dev", "--processes", "--ready-file", str(ready), *self._options]
        with output.open("wb") as file:
            self._process = _start(command, file)
        try:
            self._read(_wait_for(ready, self._process, output))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _read(self, ready: dict[str, Any]) -> None:
        scheme = "https" if ready["ca"] else "http"
        self.nodes = [Node(node["id"], node["pid"], f"{scheme}://{node['http']}") for node in ready["nodes"]]
        self.ca, self.certificate, self.key = ready["ca"], ready["certificate"], ready["key"]
        if ready["token_file"]:
            self.token = Path(ready["token_file"]).read_text().strip()

    def _end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            for node in self.nodes:
                try:
                    node.resume()  # A node that is stopped would not end.
                except ProcessLookupError:
                    pass
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(END_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()


def _program() -> str:
    program = os.environ.get("TOKENWOOD_PROGRAM") or shutil.which("tokenwood")
    if program is None:
        raise FileNotFoundError("set TOKENWOOD_PROGRAM to the tokenwood program, or put it on the PATH")
    return program


def _start(command: list[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C at the tests does not end the cluster before they have cleaned up.
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    )


def _wait_for(ready: Path, process: subprocess.Popen[bytes], output: Path) -> dict[str, Any]:
    until = time.monotonic() + START_TIMEOUT
    while time.monotonic() < until and process.poll() is None:
        try:
            found: dict[str, Any] = json.loads(ready.read_text())
            return found
        except (FileNotFoundError, ValueError):
            time.sleep(0.02)
    raise RuntimeError(f"the cluster did not start: {output.read_text(errors='replace')}")


@pytest.fixture(scope="session")
def tokenwood_cluster() -> Iterator[Cluster]:
    """A cluster of three nodes for all tests. A test that ends nodes needs a `Cluster` of its own."""
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def tokenwood_client(tokenwood_cluster: Cluster) -> Iterator[Client]:
    """A client of the cluster. What it holds is released after the test."""
    with tokenwood_cluster.client() as client:
        yield client
