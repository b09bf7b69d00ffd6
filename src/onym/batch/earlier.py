"""Writes a shard with the rows of an earlier run for all documents that cannot change, and links the others.

The rows and their digest are those of linking the whole shard. A shard is linked as a whole if its earlier output is missing or
corrupt, or if a document that can change could not be linked without problems, before or now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onym.batch.changed_names import ChangedNames
from onym.batch.inputs import GroupReading
from onym.batch.ledger import receipts_of
from onym.batch.plan import BatchPlan, Shard, read_plan
from onym.batch.rows import Receipt, RowBuffer, RowWriter, schema_of, update_digest
from onym.corpora.base import documents_of
from onym.corpora.corpus import unwritable
from onym.pipeline.pipeline import Pipeline
from onym.store.storage import Storage, open_storage
from onym.types import Document

Report = Callable[[int, float], None]
"""Progress callback: the number of linked documents of a shard, and the fraction of its input that was read."""
_DOCUMENTS = 64  # documents whose texts are searched at a time
Key = tuple[str, int]
"""The source of a document, and its number there."""


class EarlierRun:
    """The output of an earlier run of the same shards, and the names that have changed since."""

    def __init__(self, plan: BatchPlan, storage: Storage, changed: ChangedNames, *, text: bool) -> None:
        self._shards, self._storage = {shard.number: shard for shard in plan.shards}, storage
        self._changed, self._text = changed, text

    @classmethod
    def of(cls, plan: BatchPlan, storage: Storage) -> EarlierRun | None:
        """Open the earlier run of a plan; None if it has none."""
        if plan.settings.reuse is None:
            return None
        earlier = open_storage(plan.settings.reuse)
        return cls(read_plan(earlier), earlier, ChangedNames.read(storage), text=plan.settings.text)

    def write_shard(self, shard: Shard, pipeline: Pipeline, out: Storage, report: Report) -> Receipt | None:
        """Write the output of a shard and return its receipt; None if the whole shard must be linked."""
        earlier = self._shards.get(shard.number)
        if earlier is None or earlier.groups != shard.groups:
            return None
        receipt = receipts_of([earlier], self._storage).get(shard.number)
        old = receipt and self._read(earlier, receipt)
        if old is None or receipt is None:
            return None
        made = self._replace_rows(shard, pipeline, old, report)
        if made is None:
            return None
        table, count = made
        with out.publish(shard.name) as file, RowWriter(file, text=self._text) as rows:
            rows.add_table(table)
            new = receipt.model_copy(
                update={
                    "key": shard.key,
                    **_count_mentions(table),
                    "reused": receipt.documents - count,
                    "rows": rows.rows,
                    "digest": rows.digest(),
                }
            )
            rows.close(new.model_dump_json().encode())
        return new

    def _read(self, shard: Shard, receipt: Receipt) -> pa.Table | None:
        """Return the rows of a shard; None if they have changed since they were written, or have another schema."""
        digest, groups = hashlib.sha256(), []
        try:
            with self._storage.open(shard.name) as file:
                table = pq.ParquetFile(file, page_checksum_verification=True)
                for group in range(table.num_row_groups):
                    groups.append(table.read_row_group(group, use_threads=False))
                    update_digest(digest, groups[-1])
        except (pa.ArrowException, OSError):
            return None
        if digest.hexdigest() != receipt.digest or not groups:
            return None
        whole = pa.concat_tables(groups).replace_schema_metadata(None)
        return whole if whole.schema.equals(schema_of(text=self._text)) else None

    def _replace_rows(self, shard: Shard, pipeline: Pipeline, old: pa.Table, report: Report) -> tuple[pa.Table, int] | None:
        """Return the rows with those of changed documents replaced, and the number of these; None if one has problems."""
        firsts, has_problem = _find_rows(old)
        buffer, places = RowBuffer(text=self._text), list[int]()
        replaced = set[Key]()
        reading = _ShardReading(shard, self._changed, report)
        for linked in pipeline.link_many(reading.iter_changed()):
            doc = linked.document
            key = doc.source, doc.ordinal
            if linked.problems or key not in firsts or key in has_problem or unwritable(doc):
                return None
            before = len(buffer)
            buffer.add_linked(linked)
            places += [firsts[key]] * (len(buffer) - before)
            replaced.add(key)
        if not replaced:
            return old, 0
        new = pa.Table.from_batches([buffer.take(len(buffer))])
        return _splice(old, new, places, replaced), len(replaced)


class _ShardReading:
    """Reads the documents of a shard, and yields those that can change."""

    def __init__(self, shard: Shard, changed: ChangedNames, report: Report) -> None:
        self._shard, self._changed, self._report = shard, changed, report

    def iter_changed(self) -> Iterator[Document]:
        """Yield the documents that can change; all inputs are read, and checked for changes since planning."""
        documents = self._documents()
        while some := list(islice(documents, _DOCUMENTS)):
            found = self._changed.find_documents(some)
            yield from (doc for doc, is_found in zip(some, found, strict=True) if is_found)

    def _documents(self) -> Iterator[Document]:
        count, size = 0, 0.0
        for group in self._shard.groups:
            reading = GroupReading(group)
            for doc in documents_of(reading):
                count += 1
                self._report(count, (size + reading.bytes_read) / max(1, self._shard.bytes))
                yield doc
            size += group.bytes


def _find_rows(table: pa.Table) -> tuple[dict[Key, int], set[Key]]:
    """Return the number of the first row of each linked document, and the documents that have problems."""
    firsts: dict[Key, int] = {}
    has_problem: set[Key] = set()
    for at, (key, kind) in enumerate(zip(_keys_of(table), table["row"].to_pylist(), strict=True)):
        if kind == "problem":
            has_problem.add(key)
        elif kind != "deleted":
            firsts.setdefault(key, at)
    return firsts, has_problem


def _keys_of(table: pa.Table) -> Iterable[Key]:
    return zip(table["source"].to_pylist(), table["ordinal"].to_pylist(), strict=True)


def _splice(old: pa.Table, new: pa.Table, places: list[int], replaced: set[Key]) -> pa.Table:
    """Return the old rows with the new rows of each document at the place of its old ones."""
    is_kept = np.array([key not in replaced for key in _keys_of(old)])
    kept = np.flatnonzero(is_kept)
    order = np.argsort(np.concatenate([kept, np.array(places, dtype=np.int64)]), kind="stable")
    return pa.concat_tables([old.filter(pa.array(is_kept)), new]).take(pa.array(order))


def _count_mentions(table: pa.Table) -> dict[str, Any]:
    """Return the counts of mentions of a receipt."""
    mentions = table.filter(pc.equal(table["row"], "mention"))
    linked = mentions.num_rows - mentions["concept_id"].null_count
    tied = pc.sum(pc.greater(mentions["ties"], 0)).as_py() or 0
    return {"mentions": mentions.num_rows, "linked": linked, "tied": tied}
