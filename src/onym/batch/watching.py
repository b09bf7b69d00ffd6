"""Looking at a run while it goes on, from anywhere: what is done is read from the output alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onym.batch.ledger import Ledger, refreshed, status
from onym.store.storage import open_storage


@dataclass(frozen=True, slots=True)
class Look:
    """What is done of a run, and how many documents a second were linked since the first look."""

    ledger: Ledger
    documents_per_s: float

    @property
    def description(self) -> str:
        """Rate and problems in a few words.

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
    """Yield what is done again and again, until nothing is left: each shard has its output or is quarantined.

    Footers that were read once are not read again. A shard that was quarantined before may still be linked by a run that
    goes on; it is not waited for.

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
        ledger = refreshed(ledger, storage)
        yield Look(ledger, (_documents(ledger) - before) / max(time.monotonic() - began, 1e-9))


def _documents(ledger: Ledger) -> int:
    return sum(receipt.documents for receipt in ledger.receipts.values())
