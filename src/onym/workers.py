"""Worker processes of `onym batch` and `onym serve`: start them and exchange messages with them.

A worker is a new Python process that receives commands as JSON lines on stdin and replies on stdout. Nothing is forked or
pickled. A worker exits when its parent process does, because its stdin closes. The callers wait for replies in different ways:
`onym batch` uses a selector, `onym serve` an event loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from typing import IO, Any, BinaryIO, NoReturn

from onym import errors
from onym.errors import InternalError, OnymError

_READ = 1 << 16  # maximum bytes per read, and maximum bytes of a line that the event loop reads
_KINDS: dict[str, type[OnymError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OnymError)
}


def worker_command(module: str) -> tuple[str, ...]:
    """Return the command that runs a module as a worker."""
    return (sys.executable, "-m", module)


def worker_environment(workers: int) -> dict[str, str]:
    """Return the environment of a worker: `workers` processes share the CPUs equally, unless os.environ sets thread counts."""
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    return {"OMP_NUM_THREADS": threads, "POLARS_MAX_THREADS": threads, **os.environ}


async def start_in_loop(command: Sequence[str], workers: int) -> asyncio.subprocess.Process:
    """Start one of `workers` worker processes, with pipes that the event loop reads and writes."""
    pipe, environment = asyncio.subprocess.PIPE, worker_environment(workers)
    return await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True, limit=_READ
    )


class Worker:
    """One of `workers` worker processes, with pipes that a selector can watch."""

    def __init__(self, command: Sequence[str], workers: int) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        environment = worker_environment(workers)
        self._process = subprocess.Popen(list(command), env=environment, start_new_session=True, **pipes)  # noqa: S603 - ours
        self._rest = b""

    @property
    def out(self) -> IO[bytes]:
        """The pipe from which the worker's replies are read."""
        return self._process.stdout  # type: ignore[return-value]

    def tell(self, value: dict[str, Any]) -> None:
        """Send a message. If the worker has died, do nothing, because the next read detects it."""
        try:
            self._process.stdin.write(json_line(value))  # type: ignore[union-attr]
        except BrokenPipeError:
            return

    def read_replies(self) -> list[dict[str, Any]] | None:
        """Return the replies received so far, or None if the process has ended."""
        data = os.read(self.out.fileno(), _READ)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self) -> int:
        """Kill the process and return its exit status."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return self._process.wait()


def json_line(value: dict[str, Any]) -> bytes:
    r"""Encode a value as a JSON line.

    >>> json_line({"text": "two\nlines"})
    b'{"text": "two\\nlines"}\n'
    """
    return json.dumps(value).encode() + b"\n"


def iter_commands(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yield the commands sent to this worker. A thread reads stdin, so that the worker exits as soon as its parent ends."""
    heard: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def listen() -> None:
        for line in stream:
            heard.put(json.loads(line))
        os._exit(0)  # the parent process has ended: exit at once, without finishing the current command

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield heard.get()


def own_stdout() -> BinaryIO:
    """Return the original stdout, for replies only; anything else printed to stdout then goes to stderr."""
    own = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return own


def say(replies: BinaryIO, value: dict[str, Any]) -> None:
    """Write a reply.

    >>> import io
    >>> replies = io.BytesIO()
    >>> say(replies, {"ready": True})
    >>> replies.getvalue()
    b'{"ready": true}\\n'
    """
    replies.write(json_line(value))


def leave(status: int) -> NoReturn:
    """Exit the process at once. A normal exit would wait for the thread that reads stdin, and abort."""
    sys.stderr.flush()
    os._exit(status)


def error_reply(error: OnymError) -> dict[str, Any]:
    """Return the reply for an error that affects the whole worker, not one document.

    >>> from onym.errors import ConfigError
    >>> error_reply(ConfigError("output-failed", "the disk is full"))["kind"]
    'ConfigError'
    """
    return {"error": error.as_dict(), "kind": type(error).__name__}


def require_no_error(reply: dict[str, Any]) -> None:
    """Raise the error in a worker's reply, if there is one."""
    if "error" in reply:
        said = reply["error"]
        raise _KINDS.get(reply["kind"], InternalError)(said["code"], said["what"], where=said["where"], fix=said["fix"])
