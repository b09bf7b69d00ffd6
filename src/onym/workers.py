"""Worker processes of `onym batch` and `onym serve`: how they are started, what they share, and how they speak.

A worker is a new Python that is told what to do by lines of JSON on its standard input, and replies on its standard output. No
process is forked and nothing is pickled. A worker ends when the process that started it does, since its standard input ends
then. How answers are waited for is not decided here: a batch selects among its workers, a service has an event loop.
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

_READ = 1 << 16  # bytes that are read at once, and the longest line that an event loop waits for
_KINDS: dict[str, type[OnymError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OnymError)
}


def worker_command(module: str) -> tuple[str, ...]:
    """Return the command that runs a module as a worker."""
    return (sys.executable, "-m", module)


def worker_environment(workers: int) -> dict[str, str]:
    """Return the environment of one of some workers: they share the CPUs, unless the caller's environment says otherwise."""
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    return {"OMP_NUM_THREADS": threads, "POLARS_MAX_THREADS": threads, **os.environ}


async def start_in_loop(command: Sequence[str], workers: int) -> asyncio.subprocess.Process:
    """Start one of some workers whose pipes belong to the event loop."""
    pipe, environment = asyncio.subprocess.PIPE, worker_environment(workers)
    return await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True, limit=_READ
    )


class Worker:
    """One of some workers, whose pipes a selector watches."""

    def __init__(self, command: Sequence[str], workers: int) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        environment = worker_environment(workers)
        self._process = subprocess.Popen(list(command), env=environment, start_new_session=True, **pipes)  # noqa: S603 - ours
        self._rest = b""

    @property
    def out(self) -> IO[bytes]:
        """The pipe that its replies come from."""
        return self._process.stdout  # type: ignore[return-value]

    def tell(self, value: dict[str, Any]) -> None:
        """Send a line; a worker that is dead is found out by reading."""
        try:
            self._process.stdin.write(json_line(value))  # type: ignore[union-attr]
        except BrokenPipeError:
            return

    def read_replies(self) -> list[dict[str, Any]] | None:
        """Return the lines that have come, or None where the process has ended."""
        data = os.read(self.out.fileno(), _READ)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self) -> int:
        """End it at once, and return its status."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return self._process.wait()


def json_line(value: dict[str, Any]) -> bytes:
    r"""Return a value as a line.

    >>> json_line({"text": "two\nlines"})
    b'{"text": "two\\nlines"}\n'
    """
    return json.dumps(value).encode() + b"\n"


def iter_commands(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yield what a worker is told; a thread listens, so that the end of the caller is heard in the middle of a command."""
    heard: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def listen() -> None:
        for line in stream:
            heard.put(json.loads(line))
        os._exit(0)  # the caller is gone: nothing that is half done may delay the end

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield heard.get()


def own_stdout() -> BinaryIO:
    """Return standard output, and let everything else that is printed go to standard error."""
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
    """End the process. An ordinary exit would wait for the thread that listens, and abort."""
    sys.stderr.flush()
    os._exit(status)


def error_reply(error: OnymError) -> dict[str, Any]:
    """Return what is replied of an error that concerns all that a worker does.

    >>> from onym.errors import ConfigError
    >>> error_reply(ConfigError("output-failed", "the disk is full"))["kind"]
    'ConfigError'
    """
    return {"error": error.as_dict(), "kind": type(error).__name__}


def require_no_error(reply: dict[str, Any]) -> None:
    """Raise the error that a worker replied, if it did: one that concerns all that it does."""
    if "error" in reply:
        said = reply["error"]
        raise _KINDS.get(reply["kind"], InternalError)(said["code"], said["what"], where=said["where"], fix=said["fix"])
