"""A server of this machine that answers ranges, breaks off where it is asked to, and counts the bytes that it sends."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CHUNK = 64 * 1024
_PATIENCE_S = 600.0


@dataclass(frozen=True)
class Sent:
    """One answer: the bytes of a file from `start` on, as many as were handed to the network."""

    path: str
    start: int
    count: int


@dataclass
class Stop:
    """Where an answer stops: it breaks off there, or waits there until its client is gone."""

    offset: int
    breaks: bool
    reached: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)


class FileServer:
    """Serves a folder. `answers` are in order; `stops` has for a path where its next answers stop, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers: list[Sent] = []
        self.stops: dict[str, list[Stop]] = {}
        self.finished = threading.Condition()
        self.url = ""

    @contextmanager
    def running(self) -> Iterator[FileServer]:
        """Answer while the block runs, at `url`."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"files": self}))
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            for stop in (each for several in self.stops.values() for each in several):
                stop.goes_on.set()
            server.shutdown()
            thread.join()
            server.server_close()

    def note(self, sent: Sent) -> None:
        with self.finished:
            self.answers.append(sent)
            self.finished.notify_all()

    def next_stop(self, path: str, start: int) -> Stop | None:
        """Return the stop of an answer from `start` on; one that lies before it was passed by another answer."""
        several = self.stops.get(path, [])
        while several:
            stop = several.pop(0)
            if stop.offset > start:
                return stop
            stop.reached.set()
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: FileServer

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        file = (self.files.folder / path.lstrip("/")).resolve()
        self.close_connection = True
        if not file.is_relative_to(self.files.folder.resolve()) or not file.is_file():
            self.send_error(404)
            return
        size = file.stat().st_size
        etag = f'"{hashlib.sha256(f"{path} {size}".encode()).hexdigest()[:16]}"'
        start = self._start(etag)
        if start >= size > 0:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(size - start))
        self.send_header("Connection", "close")
        if start:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.end_headers()
        self._send(path, file, start, size)

    def _start(self, etag: str) -> int:
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and wanted.endswith("-") and self.headers.get("If-Range") in (None, etag):
            return int(wanted.removeprefix("bytes=").removesuffix("-"))
        return 0

    def _send(self, path: str, file: Path, start: int, size: int) -> None:
        stop = self.files.next_stop(path, start)
        count, end = 0, min(stop.offset, size) if stop else size
        try:
            with file.open("rb") as stream:
                stream.seek(start)
                while start + count < end:
                    chunk = stream.read(min(_CHUNK, end - start - count))
                    self.wfile.write(chunk)
                    count += len(chunk)
            self.wfile.flush()
        except OSError:  # the client is gone
            pass
        self.files.note(Sent(path, start, count))
        if stop:
            stop.reached.set()
            if not stop.breaks:
                stop.goes_on.wait(_PATIENCE_S)

    def log_message(self, *_: object) -> None:
        pass
