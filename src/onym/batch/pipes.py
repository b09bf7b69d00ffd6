"""How a worker process speaks with the process that started it: lines of JSON by standard input and output.

Workers of `onym batch` and of `onym serve` do. A worker ends when its driver does, since its standard input ends then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any, BinaryIO, NoReturn

from onym import errors
from onym.errors import InternalError, OnymError

_KINDS: dict[str, type[OnymError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OnymError)
}


def iter_commands(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yield what the driver says; a thread listens, so that its end is heard in the middle of a command."""
    heard: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def listen() -> None:
        for line in stream:
            heard.put(json.loads(line))
        os._exit(0)  # the driver is gone: nothing that is half done may delay the end

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield heard.get()


def own_stdout() -> BinaryIO:
    """Return standard output, and let everything else that is printed go to standard error."""
    own = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return own


def say(replies: BinaryIO, value: dict[str, Any]) -> None:
    """Write a line.

    >>> import io
    >>> replies = io.BytesIO()
    >>> say(replies, {"ready": True})
    >>> replies.getvalue()
    b'{"ready": true}\\n'
    """
    replies.write(json.dumps(value).encode() + b"\n")


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
