"""A process that opens the pipeline once and links the shards that it is told to: `python -m onym.batch.worker`.

Lines of JSON come in by standard input: first what to open, then the numbers of shards. Lines go out by standard output:
`ready`, `done`, `failed` for a shard, `error` for what concerns all of them, and once a second how far a shard is. When
standard input ends, its driver is gone, however it went: the process ends at once. What it was writing has no name yet.
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
    """Run until standard input ends."""
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
    """Return a function that says how many documents are linked, and how much of a shard is read, at most once a second."""
    said = time.monotonic()

    def report(documents: int, share: float) -> None:
        nonlocal said
        if time.monotonic() - said >= _SECONDS:
            said = time.monotonic()
            say(replies, {"documents": documents, "share": share})

    return report


if __name__ == "__main__":
    leave(main())
