"""The state of a run, read only from the receipts in its output and from its quarantined shards.

`status` returns the state, `watch` yields it repeatedly during a run, from any machine, and `verify` also compares the rows of
each shard with the digest in its receipt.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onym.batch.plan import SHARDS, BatchPlan, Shard, read_plan
from onym.batch.rows import Receipt, iter_tables, read_receipt, update_digest
from onym.errors import InputError, LimitError
from onym.store.storage import Storage, open_storage
from onym.types import Progress, silent

QUARANTINE = "quarantine"
_SUMMED = ("documents", "mentions", "linked", "tied", "deleted", "bugs", "rows")


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A shard that failed repeatedly, with the code and message of the last failure."""

    shard: int
    code: str
    what: str


@dataclass(frozen=True)
class Ledger:
    """The state of a run: receipts and quarantined shards, by shard number."""

    plan: BatchPlan
    receipts: dict[int, Receipt]
    quarantined: dict[int, Quarantined] = field(default_factory=dict)

    @property
    def open_shards(self) -> list[Shard]:
        """The shards that are not done; quarantined ones come last."""
        left = [shard for shard in self.plan.shards if shard.number not in self.receipts]
        return sorted(left, key=lambda shard: (shard.number in self.quarantined, shard.number))

    @property
    def is_done(self) -> bool:
        """True if every shard is done."""
        return len(self.receipts) == len(self.plan.shards)

    def counts(self) -> dict[str, Any]:
        """Return the sums over all receipts, and the numbers of shards and files, as plain values."""
        found = self.receipts.values()
        problems = Counter[str]()
        for receipt in found:
            problems.update(receipt.problems)
        sums = {name: sum(getattr(receipt, name) for receipt in found) for name in _SUMMED}
        return {
            "shards": len(self.plan.shards),
            "done": len(self.receipts),
            "quarantined": len(self.quarantined),
            **sums,
            "problems": dict(sorted(problems.items())),
            "files_failed": [file.name for receipt in found for file in receipt.files if file.code]
            + [file.name for file in self.plan.unreadable_files],
            "files_ignored": len(self.plan.aside) - len(self.plan.unreadable_files),
        }


def status(out: Path | str | Storage) -> Ledger:
    """Return the state of a run."""
    storage = open_storage(out) if isinstance(out, str | Path) else out
    plan = read_plan(storage)
    return Ledger(plan, receipts_of(plan.shards, storage), _read_quarantine(storage))


def refresh(ledger: Ledger, storage: Storage) -> Ledger:
    """Return the current state of the run. Receipts that the ledger already has are not read again."""
    found = receipts_of(ledger.open_shards, storage)
    return Ledger(ledger.plan, ledger.receipts | found, _read_quarantine(storage))


def require_finished(storage: Storage) -> Ledger:
    """Return the state of a run; raise InputError if it is not finished."""
    ledger = status(storage)
    if not ledger.is_done:
        what = f"{len(ledger.open_shards):,} shards are not linked yet"
        raise InputError("batch-not-done", what, where=storage.url, fix="finish it with `onym batch run`")
    return ledger


def receipts_of(shards: Iterable[Shard], storage: Storage) -> dict[int, Receipt]:
    """Return the receipts of finished shards by shard number. Outputs with a different key are ignored."""
    there = storage.names(SHARDS)
    wanted = [shard for shard in shards if shard.name.rpartition("/")[2] in there]
    found = ((shard, read_receipt(storage, shard.name)) for shard in wanted)
    return {shard.number: receipt for shard, receipt in found if receipt and receipt.key == shard.key}


def quarantine(storage: Storage, quarantined: Quarantined) -> None:
    """Record that a shard was quarantined."""
    with storage.publish(f"{QUARANTINE}/{quarantined.shard:06d}.json") as file:
        file.write(json.dumps({"shard": quarantined.shard, "code": quarantined.code, "what": quarantined.what}).encode())


def release(storage: Storage, shard: int) -> None:
    """Remove a shard from quarantine."""
    storage.remove(f"{QUARANTINE}/{shard:06d}.json")


def _read_quarantine(storage: Storage) -> dict[int, Quarantined]:
    found: dict[int, Quarantined] = {}
    for name in sorted(storage.names(QUARANTINE)):
        try:
            with storage.open(f"{QUARANTINE}/{name}") as file:
                values = json.loads(file.read(1 << 16))
            found[int(values["shard"])] = Quarantined(int(values["shard"]), str(values["code"]), str(values["what"]))
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
        ):  # not a quarantine record, or removed by another process
            continue
    return found


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a run at one moment, and the documents linked per second since `watch` began."""

    ledger: Ledger
    documents_per_s: float

    @property
    def description(self) -> str:
        """Rate and problem counts, as a short text.

        >>> from onym.batch.plan import BatchPlan, Settings
        >>> plan = BatchPlan(settings=Settings(pipeline="p"), source={}, shards=())
        >>> Look(Ledger(plan, {}), 431.7).description
        '432 documents/s'
        """
        counts = self.ledger.counts()
        problems = sum(counts["problems"].values())
        words = [f"{self.documents_per_s:,.0f} documents/s"]
        words += [f"{problems:,} problems"] if problems else []
        words += [f"{counts['quarantined']:,} shards quarantined"] if counts["quarantined"] else []
        return ", ".join(words)


def watch(out: str | Path, seconds: float = 2.0, pause: Callable[[float], None] = time.sleep) -> Iterator[Look]:
    """Yield the state of a run repeatedly, until every shard is done or quarantined.

    Receipts are read only once. `watch` does not wait for a quarantined shard, even if a run is retrying it.

    >>> from onym.batch import plan_batch, run_batch
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "1.txt").write_text("High fever.")
    >>> _ = plan_batch([folder / "1.txt"], "starter", folder / "out")
    >>> _ = run_batch(folder / "out", workers=1)
    >>> [len(look.ledger.receipts) for look in watch(folder / "out")]
    [1]
    """
    storage = open_storage(out)
    ledger = status(storage)
    began, before = time.monotonic(), _documents(ledger)
    yield Look(ledger, 0.0)
    while any(shard.number not in ledger.quarantined for shard in ledger.open_shards):
        pause(seconds)
        ledger = refresh(ledger, storage)
        yield Look(ledger, (_documents(ledger) - before) / max(time.monotonic() - began, 1e-9))


def _documents(ledger: Ledger) -> int:
    return sum(receipt.documents for receipt in ledger.receipts.values())


@dataclass(frozen=True, slots=True)
class Fault:
    """A shard whose output is missing, corrupt or changed."""

    shard: str
    what: str


def verify(out: str | Path, progress: Progress = silent) -> list[Fault]:
    """Return the faults of an output; an empty list if it is complete and unchanged."""
    storage = open_storage(out)
    ledger = status(storage)
    found: list[Fault] = []
    for number, shard in enumerate(ledger.plan.shards, 1):
        receipt = ledger.receipts.get(shard.number)
        found += [Fault(shard.name, what) for what in _faults(shard, receipt, storage)]
        progress("checking", number)
    known = {shard.name.rpartition("/")[2] for shard in ledger.plan.shards}
    found += [Fault(f"{SHARDS}/{name}", "not a shard of the plan") for name in sorted(storage.names(SHARDS) - known)]
    return found


def _faults(shard: Shard, receipt: Receipt | None, storage: Storage) -> Iterator[str]:
    if receipt is None:
        is_there = shard.name.rpartition("/")[2] in storage.names(SHARDS)
        yield "corrupt, or of another plan" if is_there else "not linked yet"
        return
    digest, rows = hashlib.sha256(), 0
    try:
        for table in iter_tables(storage, shard.name):
            update_digest(digest, table)
            rows += table.num_rows
    except (InputError, LimitError, OSError):
        yield "its rows cannot be read"
        return
    if (digest.hexdigest(), rows) != (receipt.digest, receipt.rows):
        yield "its rows have changed since they were written"
