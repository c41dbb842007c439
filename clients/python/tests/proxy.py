"""A proxy that loses requests and answers, before a real node."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from types import TracebackType
from urllib.parse import urlsplit


class Proxy:
    """Passes one request of each connection on, and closes the connection after its answer."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        assert parts.hostname is not None and parts.port is not None
        self.target = (parts.hostname, parts.port)
        self.swallowed = 0
        self.held_back = 0
        self.ending = threading.Event()
        self._wanted: list[tuple[str, str]] = []
        self._guard = threading.Lock()
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    proxy.serve(self.request)

        socketserver.ThreadingTCPServer.daemon_threads = True
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def swallow_next(self, text: str) -> None:
        """Loses the answer to the next request with this text in its first line, and hangs up."""
        self._wanted.append((text, "swallow"))

    def hold_back_next(self, text: str) -> None:
        """Loses the answer to the next request with this text in its first line, and does not hang up."""
        self._wanted.append((text, "hold back"))

    def refuse_next(self, text: str) -> None:
        """Hangs up on the next request with this text in its first line."""
        self._wanted.append((text, "refuse"))

    def serve(self, caller: socket.socket) -> None:
        request = _message(caller)
        fault = self._fault(request.partition(b"\r\n")[0].decode())
        if fault == "refuse":
            return
        with socket.create_connection(self.target) as node:
            node.sendall(request)
            answers = threading.Thread(target=_pass_end, args=(caller, node), daemon=True)
            answers.start()
            answer = _message(node)
        if fault == "swallow":
            self.swallowed += 1
        elif fault == "hold back":
            self.held_back += 1
            self.ending.wait(30)
        else:
            caller.sendall(answer)

    def _fault(self, line: str) -> str | None:
        with self._guard:
            for index, (text, fault) in enumerate(self._wanted):
                if text in line:
                    del self._wanted[index]
                    return fault
        return None

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()


def _message(source: socket.socket) -> bytes:
    """One request or answer with a Content-Length."""
    message = b""
    while b"\r\n\r\n" not in message:
        message += _some(source)
    head = message.partition(b"\r\n\r\n")[0].lower()
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
    while len(message) < len(head) + 4 + length:
        message += _some(source)
    return message


def _some(source: socket.socket) -> bytes:
    data = source.recv(65536)
    if not data:
        raise OSError("the connection ended")
    return data


def _pass_end(caller: socket.socket, node: socket.socket) -> None:
    """A caller that hangs up hangs up at the node, too."""
    with contextlib.suppress(OSError):
        if not caller.recv(1):
            node.shutdown(socket.SHUT_RDWR)
