"""A process that opens the pipeline once and links the shards that it is told to: `python -m onym.batch.worker`.

Lines of JSON come in by standard input: first what to open, then the numbers of shards. Lines go out by standard output:
`ready`, `done`, `failed` for a shard, `error` for what concerns all of them. When standard input ends, its driver is gone,
however it went: the process ends at once. What it was writing has no name yet.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from onym.batch.pipes import error_reply, iter_commands, leave, own_stdout, say
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


def main() -> int:
    """Run until standard input ends."""
    replies = own_stdout()
    commands = iter_commands(sys.stdin.buffer)
    try:
        first = next(commands)
        runner = ShardRunner(first["out"], first.get("pipeline"))
        say(replies, {"ready": True})
        for command in commands:
            say(replies, runner.run(int(command["shard"])))
    except OnymError as e:
        say(replies, error_reply(e))
        return e.exit_status
    return 0


if __name__ == "__main__":
    leave(main())
