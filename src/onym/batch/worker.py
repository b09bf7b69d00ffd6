"""A process that opens the pipeline once and links the shards that it is told to: `python -m onym.batch.worker`.

Lines of JSON come in by standard input: first what to open, then the numbers of shards. Lines go out by standard output:
`ready`, `done`, `failed` for a shard, `error` for what concerns all of them. When standard input ends, its driver is gone,
however it went: the process ends at once. What it was writing has no name yet.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any, BinaryIO

from onym.errors import ConfigError, IntegrityError, OnymError, coded, is_failure

_PRIVATE = 0o077


class ShardRunner:
    """The pipeline of a plan, open, and the storage that outputs go to. Engines run shards by it."""

    def __init__(self, out: str, pipeline: str | None = None) -> None:
        from onym.batch.plan import read_plan
        from onym.batch.planning import open_planned, require_planned
        from onym.store.storage import open_storage

        self._storage = open_storage(out)
        self._plan = read_plan(self._storage)
        if self._plan.settings.private:
            os.umask(_PRIVATE)
        self._shards = {shard.number: shard for shard in self._plan.shards}
        self._pipeline = open_planned(self._plan.settings, pipeline)
        require_planned(self._plan, self._pipeline)

    def run(self, number: int) -> dict[str, Any]:
        """Link a shard; return `done`, or why it `failed`. What concerns all shards is raised."""
        from onym.batch.shard import run_shard

        try:
            run_shard(self._shards[number], self._plan, self._pipeline, self._storage)
        except BaseException as e:  # whatever it is, it is reported with a code
            if isinstance(e, ConfigError | IntegrityError) or not is_failure(e):
                raise
            ours = coded(e)
            return {"failed": number, "code": ours.code, "what": ours.what}
        return {"done": number}


def error_reply(error: OnymError) -> dict[str, Any]:
    """Return what is replied of an error that concerns all shards.

    >>> error_reply(ConfigError("output-failed", "the disk is full"))["kind"]
    'ConfigError'
    """
    return {"error": error.as_dict(), "kind": type(error).__name__}


def main() -> int:
    """Run until standard input ends."""
    replies = _own_stdout()
    commands = _commands(sys.stdin.buffer)
    try:
        first = next(commands)
        runner = ShardRunner(first["out"], first.get("pipeline"))
        _say(replies, {"ready": True})
        for command in commands:
            _say(replies, runner.run(int(command["shard"])))
    except OnymError as e:
        _say(replies, error_reply(e))
        return e.exit_status
    return 0


def _commands(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yield what the driver says; a thread listens, so that its end is heard in the middle of a shard."""
    heard: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def listen() -> None:
        for line in stream:
            heard.put(json.loads(line))
        os._exit(0)  # the driver is gone: nothing that is half done may delay the end

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield heard.get()


def _own_stdout() -> BinaryIO:
    """Return standard output, and let everything else that is printed go to standard error."""
    own = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return own


def _say(replies: BinaryIO, value: dict[str, Any]) -> None:
    replies.write(json.dumps(value).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
