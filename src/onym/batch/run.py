"""Runs a plan: links the shards that are not done yet. An interrupted run resumes when it is started again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from onym.batch.engines import Advance, Engine, LocalEngine, ShardQueue, ignore
from onym.batch.ledger import QUARANTINE, Ledger, status
from onym.batch.plan import SHARDS, Shard
from onym.errors import ConfigError
from onym.store.hidden import owner_only
from onym.store.storage import Storage, open_storage

ENGINES = ("local", "ray")
_PART = re.compile(r"([0-9]{1,7})/([0-9]{1,7})")


def run_batch(
    out: str | Path,
    *,
    engine: str | Engine = "local",
    address: str = "",
    workers: int | None = None,
    part: str = "",
    pipeline: str | Path | None = None,
    progress: Callable[[Advance], None] = ignore,
) -> Ledger:
    """Link the remaining shards of the plan in the folder `out`, and return the state of the run.

    Any number of runs may work on the same folder at once: they write the same bytes. `part`, such as `3/8`, selects every
    eighth shard, for job arrays. `address` is the address of a Ray cluster, for the engine `ray`; by default, one is started on
    this machine. `pipeline` is the pipeline's path on this machine, if it differs from the plan. A shard that fails three times
    is quarantined with a code, and retried by the next run. `progress` is called about once a second.

    >>> from onym.batch import plan_batch
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "1.txt").write_text("High fever.")
    >>> _ = plan_batch([folder / "1.txt"], "starter", folder / "out")
    >>> run_batch(folder / "out", workers=1).counts()["documents"]
    1
    """
    storage = open_storage(out)
    before = status(storage)
    wanted = _of_part(before.open_shards, part)
    _clean(storage)  # even if all shards are done: the last run may have been killed before its cleanup
    if not wanted:
        return before
    queue = ShardQueue.of(wanted, storage, None if pipeline is None else str(Path(pipeline).resolve()))
    queue.on_change = progress
    runner = _engine(engine, address, workers) if isinstance(engine, str) else engine
    with owner_only(before.plan.settings.private):
        runner.run(queue)
    _clean(storage)
    return status(storage)


def _clean(storage: Storage) -> None:
    """Remove temp files of killed processes."""
    for folder in (SHARDS, QUARANTINE):
        storage.clean(folder)


def _engine(name: str, address: str, workers: int | None) -> Engine:
    if name == "ray":
        from onym.batch.on_ray import LOCAL, RayEngine

        return RayEngine(workers, address or LOCAL)
    if address:
        raise ConfigError("config-invalid", f"the engine {name!r} takes no address", fix="drop the address, or use ray")
    if name == "local":
        return LocalEngine(workers or os.cpu_count() or 1)
    raise ConfigError("config-invalid", f"unknown engine {name!r}", fix=f"use one of {', '.join(ENGINES)}")


def _of_part(shards: Sequence[Shard], part: str) -> list[Shard]:
    """Return the shards of a part such as `3/8`: those with number % 8 == 2.

    >>> _of_part([], "2/4")
    []
    """
    if not part:
        return list(shards)
    found = _PART.fullmatch(part)
    number, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= parts:
        raise ConfigError("config-invalid", f"{part!r} is not a valid part", fix="write 1/8 to 8/8 for eight parts")
    return [shard for shard in shards if shard.number % parts == number - 1]
