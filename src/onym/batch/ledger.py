"""What is done: the receipts in the footers of the output, and quarantined shards. Any summary is made of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onym.batch.plan import SHARDS, BatchPlan, Shard, read_plan
from onym.batch.receipt import Receipt, read_receipt
from onym.errors import InputError
from onym.store.storage import Storage, open_storage

QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A shard that failed again and again: the code of the last failure, and what it was."""

    shard: int
    code: str
    what: str


@dataclass(frozen=True)
class Ledger:
    """The state of a run: receipts by the number of their shard, and the shards that were quarantined."""

    plan: BatchPlan
    receipts: dict[int, Receipt]
    quarantined: dict[int, Quarantined] = field(default_factory=dict)

    @property
    def open_shards(self) -> list[Shard]:
        """The shards that are not done; those that were quarantined before come last."""
        left = [shard for shard in self.plan.shards if shard.number not in self.receipts]
        return sorted(left, key=lambda shard: (shard.number in self.quarantined, shard.number))

    @property
    def is_done(self) -> bool:
        """True where every shard has its output."""
        return len(self.receipts) == len(self.plan.shards)

    def counts(self) -> dict[str, Any]:
        """Return the sums of all receipts, and what is left, as plain values."""
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
            + [file.name for file in self.plan.failed],
            "files_ignored": len(self.plan.aside) - len(self.plan.failed),
        }


_SUMMED = ("documents", "mentions", "linked", "tied", "deleted", "bugs", "rows")


def status(out: Path | str | Storage) -> Ledger:
    """Return what is done of a plan."""
    storage = open_storage(out) if isinstance(out, str | Path) else out
    plan = read_plan(storage)
    return Ledger(plan, receipts_of(plan.shards, storage), _quarantined(storage))


def refreshed(ledger: Ledger, storage: Storage) -> Ledger:
    """Return what is done by now; receipts that are known are not read again."""
    found = receipts_of(ledger.open_shards, storage)
    return Ledger(ledger.plan, ledger.receipts | found, _quarantined(storage))


def finished(storage: Storage) -> Ledger:
    """Return what is done of a plan, or refuse one that is not done."""
    ledger = status(storage)
    if not ledger.is_done:
        what = f"{len(ledger.open_shards):,} shards are not linked"
        raise InputError("batch-not-done", what, where=storage.url, fix="run onym batch run")
    return ledger


def receipts_of(shards: Iterable[Shard], storage: Storage) -> dict[int, Receipt]:
    """Return the receipts of shards that are done; an output of another key is as none."""
    there = storage.names(SHARDS)
    wanted = [shard for shard in shards if shard.name.rpartition("/")[2] in there]
    found = ((shard, read_receipt(storage, shard.name)) for shard in wanted)
    return {shard.number: receipt for shard, receipt in found if receipt and receipt.key == shard.key}


def quarantine(storage: Storage, quarantined: Quarantined) -> None:
    """Note that a shard was quarantined."""
    with storage.publish(f"{QUARANTINE}/{quarantined.shard:06d}.json") as file:
        file.write(json.dumps({"shard": quarantined.shard, "code": quarantined.code, "what": quarantined.what}).encode())


def release(storage: Storage, shard: int) -> None:
    """Forget that a shard was quarantined: it is done."""
    storage.remove(f"{QUARANTINE}/{shard:06d}.json")


def _quarantined(storage: Storage) -> dict[int, Quarantined]:
    found: dict[int, Quarantined] = {}
    for name in sorted(storage.names(QUARANTINE)):
        try:
            with storage.open(f"{QUARANTINE}/{name}") as file:
                values = json.loads(file.read(1 << 16))
            found[int(values["shard"])] = Quarantined(int(values["shard"]), str(values["code"]), str(values["what"]))
        except (OSError, ValueError, KeyError, TypeError):  # no note of ours, or gone since: it says nothing
            continue
    return found
