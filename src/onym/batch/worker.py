"""Entry point of a worker process, which opens the pipeline once and links shards: `python -m onym.batch.worker`.

It reads lines of JSON from standard input: first the output folder and the pipeline, then shard numbers. It writes lines to
standard output: `ready`, then `done` or `failed` for a shard, `error` if all shards are affected, and the progress of a shard
once a second. When standard input is closed, its parent has exited. The process then exits at once; unfinished output remains
a temp file.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import BinaryIO

from onym.errors import OnymError
from onym.workers import error_reply, iter_commands, leave, own_stdout, say

_SECONDS = 1.0


def main() -> int:
    """Link shards until standard input is closed."""
    replies = own_stdout()
    commands = iter_commands(sys.stdin.buffer)
    try:
        first = next(commands)
        from onym.batch.shard import ShardRunner

        runner = ShardRunner(first["out"], first.get("pipeline"))
        say(replies, {"ready": True})
        for command in commands:
            say(replies, runner.run(int(command["shard"]), _reporter(replies)))
    except OnymError as e:
        say(replies, error_reply(e))
        return e.exit_status
    return 0


def _reporter(replies: BinaryIO) -> Callable[[int, float], None]:
    """Return a callback that writes the progress of a shard at most once a second."""
    said = time.monotonic()

    def report(documents: int, share: float) -> None:
        nonlocal said
        if time.monotonic() - said >= _SECONDS:
            said = time.monotonic()
            say(replies, {"documents": documents, "share": share})

    return report


if __name__ == "__main__":
    leave(main())
