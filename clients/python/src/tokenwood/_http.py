"""HTTP/1.1 to one node, on asyncio streams.

`http.client` would need a thread for each request that waits, and cannot hang up from outside.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

CONNECT_TIMEOUT = 3.0
# The door closes a connection on which no request comes for 10 s.
IDLE_TIMEOUT = 5.0
MOST_IDLE = 8
LONGEST_BODY = 16 << 20


@dataclass(frozen=True)
class Answer:
    """What a node answered."""

    status: int
    document: dict[str, Any]


@dataclass
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    idle_since: float = 0.0

    def hang_up(self) -> None:
        """Ends it at once. A request that waits leaves its queue."""
        self.writer.transport.abort()


class Door:
    """The HTTP door of one node.

    A request whose connection breaks may be sent again: an acquire has a key, and to release or to
    keep alive twice does no harm.
    """

    def __init__(self, url: str, token: str | None, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"'{url}' is not the URL of a node: write http://HOST:PORT or https://HOST:PORT")
        if parts.scheme == "https" and context is None:
            context = ssl.create_default_context()
        self.url = url
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._base = parts.path.rstrip("/")
        self._context = context if parts.scheme == "https" else None
        shown = parts.netloc.rpartition("@")[2]
        self._head = f"Host: {shown}\r\nUser-Agent: tokenwood-python\r\n"
        if token is not None:
            if not token.isalnum():
                raise ValueError("a token has 64 hexadecimal digits")
            self._head += f"Authorization: Bearer {token}\r\n"
        self._idle: list[_Connection] = []

    async def request(
        self, method: str, path: str, body: dict[str, Any] | None = None, key: str | None = None
    ) -> Answer:
        """Sends a request and waits for its answer. Raises `ConnectionError` if there is none."""
        while self._idle:
            connection = self._idle.pop()
            if time.monotonic() - connection.idle_since > IDLE_TIMEOUT:
                connection.hang_up()
                continue
            try:
                return await self._exchange(connection, method, path, body, key)
            except ConnectionError:
                # The node may have closed it while it was idle: a new connection tells.
                continue
        return await self._exchange(await self._connect(), method, path, body, key)

    def close(self) -> None:
        """Ends the connections that are idle."""
        while self._idle:
            self._idle.pop().hang_up()

    async def _connect(self) -> _Connection:
        opening = asyncio.open_connection(self._host, self._port, ssl=self._context)
        try:
            reader, writer = await asyncio.wait_for(opening, CONNECT_TIMEOUT)
        except (OSError, asyncio.TimeoutError) as error:
            raise ConnectionError(f"cannot reach {self.url}: {error or 'no answer'}") from error
        _detect_a_dead_peer(writer.get_extra_info("socket"))
        return _Connection(reader, writer)

    async def _exchange(
        self, connection: _Connection, method: str, path: str, body: dict[str, Any] | None, key: str | None
    ) -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {self._base}{path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n"
        if body is not None:
            head += "Content-Type: application/json\r\n"
        if key is not None:
            head += f"Idempotency-Key: {key}\r\n"
        try:
            connection.writer.write(f"{head}\r\n".encode() + content)
            await connection.writer.drain()
            answer, reusable = await _read_answer(connection.reader)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            connection.hang_up()
            raise ConnectionError(f"{self.url} did not answer: {error}") from error
        except BaseException:
            connection.hang_up()
            raise
        if reusable and len(self._idle) < MOST_IDLE:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.hang_up()
        return answer


def lock_path(name: str, verb: str = "") -> str:
    """The path of a lock."""
    return f"/v1/locks/{quote(name, safe='')}{verb}"


def _detect_a_dead_peer(sock: Any) -> None:
    """Has the system notice within half a minute that a connection that waits leads nowhere."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    except OSError:
        pass  # It is an aid only, and some systems do not have it.


async def _read_answer(reader: asyncio.StreamReader) -> tuple[Answer, bool]:
    """Reads an answer, and tells whether the connection can be used again."""
    status = 100
    while status < 200:  # 1xx announces another answer.
        version, number, *_ = (await _line(reader)).split(" ", 2)
        status = int(number)
        headers: dict[str, str] = {}
        while line := await _line(reader):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
    reusable = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    if status in (204, 304):
        content = b""
    elif headers.get("transfer-encoding", "").lower() == "chunked":
        content = await _chunks(reader)
    elif "content-length" in headers:
        content = await reader.readexactly(_size(headers["content-length"], 10))
    else:
        content, reusable = await reader.read(LONGEST_BODY), False
    try:
        document = json.loads(content) if content else {}
    except ValueError:
        document = {}  # Not from a node, but from a proxy: the status has to do.
    return Answer(status, document if isinstance(document, dict) else {}), reusable


async def _line(reader: asyncio.StreamReader) -> str:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the connection ended")
    return line.decode("latin-1").rstrip("\r\n")


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    content = b""
    while size := _size((await _line(reader)).partition(";")[0], 16):
        content += await reader.readexactly(size)
        await _line(reader)
        _size(str(len(content)), 10)
    while await _line(reader):
        pass
    return content


def _size(text: str, base: int) -> int:
    size = int(text, base)
    if not 0 <= size <= LONGEST_BODY:
        raise ValueError("the answer is too large")
    return size
