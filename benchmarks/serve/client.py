"""Minimal asyncio HTTP client with keep-alive connections; responses have their latency."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Got:
    """A response; status 0 means that the connection was closed without one."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float


NOTHING = Got(0, {}, b"", 0.0)


def link_request(text: str, *extra: str) -> bytes:
    """Return the bytes of a request to link a text."""
    return _post("/v1/link", "application/json", _json(text), *extra)


def stream_request(texts: Sequence[str]) -> bytes:
    """Return the bytes of a streaming request to link texts."""
    return _post("/v1/link/batch", "application/x-ndjson", b"".join(_json(text) + b"\n" for text in texts))


def _json(text: str) -> bytes:
    return json.dumps({"text": text}, ensure_ascii=False).encode()


def _post(path: str, media_type: str, body: bytes, *extra: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {media_type}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *extra, "", ""]).encode() + body


class Connection:
    """A connection that is opened on first use."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname, parts.port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes, seconds: float = 60.0) -> Got:
        """Send a request and return its answer."""
        began = time.perf_counter()
        async with asyncio.timeout(seconds):
            if self._streams is None:
                self._streams = await asyncio.open_connection(self._host, self._port)
            reader, writer = self._streams
            try:
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
                body = await _body(reader, headers)
            except (asyncio.IncompleteReadError, ConnectionError):
                self.close()
                return NOTHING
        if headers.get("connection") == "close":
            self.close()
        return Got(int(first.split()[1]), headers, body, time.perf_counter() - began)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


async def load(url: str, requests: Sequence[bytes], clients: int) -> tuple[list[Got], float]:
    """Send all requests with concurrent clients; return the responses in order, and the elapsed seconds."""
    answers: list[Got] = [NOTHING] * len(requests)
    rest = iter(enumerate(requests))

    async def client() -> None:
        connection = Connection(url)
        for number, request in rest:
            answers[number] = await connection.ask(request)
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return answers, time.perf_counter() - began


def milliseconds(answers: Sequence[Got]) -> tuple[float, float]:
    """Return the median and the 99th percentile of the times."""
    cuts = quantiles([answer.seconds * 1000 for answer in answers], n=100, method="inclusive")
    return round(cuts[49], 1), round(cuts[98], 1)
