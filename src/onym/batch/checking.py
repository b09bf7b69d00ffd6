"""Checking an output: the receipts of all shards, and the rows of each against the digest in its receipt."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from onym.batch.ledger import status
from onym.batch.plan import SHARDS, Shard
from onym.batch.receipt import Receipt
from onym.batch.rows import update_digest
from onym.store.storage import Storage, open_storage
from onym.types import Progress, silent


@dataclass(frozen=True, slots=True)
class Fault:
    """A shard whose output is missing, torn or changed."""

    shard: str
    what: str


def verify(out: str | Path, progress: Progress = silent) -> list[Fault]:
    """Return what is wrong with an output; nothing, if all of it is there and as it was written."""
    storage = open_storage(out)
    ledger = status(storage)
    found: list[Fault] = []
    for number, shard in enumerate(ledger.plan.shards, 1):
        receipt = ledger.receipts.get(shard.number)
        found += [Fault(shard.name, what) for what in _faults(shard, receipt, storage)]
        progress("checking", number)
    known = {shard.name.rpartition("/")[2] for shard in ledger.plan.shards}
    found += [Fault(f"{SHARDS}/{name}", "no shard of the plan") for name in sorted(storage.names(SHARDS) - known)]
    return found


def _faults(shard: Shard, receipt: Receipt | None, storage: Storage) -> Iterator[str]:
    if receipt is None:
        is_there = shard.name.rpartition("/")[2] in storage.names(SHARDS)
        yield "torn, or of another plan" if is_there else "not linked yet"
        return
    digest, rows = hashlib.sha256(), 0
    try:
        with storage.open(shard.name) as file:
            table = pq.ParquetFile(file, page_checksum_verification=True)
            for group in range(table.num_row_groups):
                read = table.read_row_group(group, use_threads=False)
                update_digest(digest, read)
                rows += read.num_rows
    except (pa.ArrowException, OSError):
        yield "its rows cannot be read"
        return
    if (digest.hexdigest(), rows) != (receipt.digest, receipt.rows):
        yield "its rows are not those that were written"
