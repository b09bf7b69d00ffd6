"""The output of a run as one file: a table of its rows, documents in any corpus format, FHIR or OMOP, or the current view.

The text of documents is not in the output: for documents the inputs are read again, and must be what they were.

The current view is for baseline and update files, as PubMed has them: of each document what the latest file says, without
those that were deleted. A document is a PMID with its version; files are ordered by their names, as PubMed numbers them, and
documents by their number in a file. A deletion holds until a later file has the document again. A document that could not be
linked replaces its earlier state, too: that is no longer what it says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from onym.batch.inputs import read_group
from onym.batch.ledger import Ledger, finished
from onym.batch.plan import Shard
from onym.corpora.base import documents_of
from onym.corpora.corpus import require_output, require_writable, write_linked_corpus
from onym.outputs.exports import EXPORTS, NO_OPTIONS, ExportOptions, linked_export, require_linked_export, write_linked_export
from onym.outputs.rows import require_rows, write_rows
from onym.store.output import require_file, whole_file, whole_path
from onym.store.storage import Storage, open_storage
from onym.types import Candidate, Document, Link, LinkedDocument, Mention
from onym.views import COLUMNS, kinds_of

_ROWS = 10_000
_ORDER, _VERSION = "order", "version"
_VERSIONED = r"^([0-9]+)\.([0-9]+)$"
Row = dict[str, Any]


def export(
    out: str | Path,
    dest: Path,
    format: str = "",  # noqa: A002 - what it is
    *,
    options: ExportOptions = NO_OPTIONS,
    force: bool = False,
) -> int:
    """Write the output of a run that is done; return how many rows or documents there are.

    Without a format it is what the ending of the name says: FHIR, OMOP, or a table of .parquet, .csv, .tsv, .jsonl or .xlsx.
    """
    format = format or linked_export(dest)  # noqa: A001
    require_linked_export(dest, format, options, force=force)
    if format in EXPORTS:
        require_file(dest, force=force)
    elif format:
        require_output(dest, require_writable(format), force=force)
    else:
        require_rows(dest)
        require_file(dest, force=force)
    storage = open_storage(out)
    ledger = finished(storage)
    if format in EXPORTS:
        return _write_export(ledger, storage, dest, format, options, force=force)
    if format:
        linked = (each for shard in ledger.plan.shards for each in _linked(shard, storage))
        return write_linked_corpus(linked, dest, format, force=force).documents
    return _write_table(ledger, storage, dest, force=force)


def _write_export(
    ledger: Ledger,
    storage: Storage,
    dest: Path,
    format: str,  # noqa: A002
    options: ExportOptions,
    *,
    force: bool,
) -> int:
    """Write the documents that were linked, and with text only where the run has text."""
    settings, count = ledger.plan.settings, 0

    def linked() -> Iterator[LinkedDocument]:
        nonlocal count
        for shard in ledger.plan.shards:
            for each in _linked(shard, storage, asserted=settings.assertion, complete=True):
                count += 1
                yield each

    write_linked_export(linked(), dest, format, options, source=ledger.plan.source, text=settings.text, force=force)
    return count


def _write_table(ledger: Ledger, storage: Storage, dest: Path, *, force: bool) -> int:
    has_text = ledger.plan.settings.text
    columns = kinds_of([name for name in COLUMNS if has_text or name != "text"])
    written = 0

    def values() -> Iterator[list[Any]]:
        nonlocal written
        for shard in ledger.plan.shards:
            for row in _rows(shard, storage):
                if row["row"] == "mention":
                    written += 1
                    yield [row[name] for name in columns]

    with whole_file(dest, force=force) as file:
        write_rows(values(), columns, dest, file)
    return written


def _rows(shard: Shard, storage: Storage) -> Iterator[Row]:
    with storage.open(shard.name) as file:
        for batch in pq.ParquetFile(file, page_checksum_verification=True).iter_batches(_ROWS, use_threads=False):
            yield from batch.to_pylist()


def _linked(shard: Shard, storage: Storage, *, asserted: bool = False, complete: bool = False) -> Iterator[LinkedDocument]:
    """Yield the documents of a shard with their links: texts from the inputs, answers from the output.

    With `complete`, documents that could not be linked are left out. If marks were `asserted`, no mark is none, not unknown.
    """
    rows: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in _rows(shard, storage):
        if row["row"] in ("mention", "none"):
            rows[row["source"], row["ordinal"]].append(row)
    for planned in shard.groups:
        for doc in documents_of(read_group(planned)):
            found = rows.get((doc.source, doc.ordinal), [])
            if found or not complete:
                links = (_link(row, doc, asserted=asserted) for row in found if row["row"] == "mention")
                yield LinkedDocument(doc, tuple(links))


def _link(row: Row, doc: Document, *, asserted: bool) -> Link:
    mention = Mention(row["start"], row["end"], doc.text[row["start"] : row["end"]], type=row["type"] or "")
    best = () if row["concept_id"] is None else (_candidate(row),)
    marks = tuple((row["assertion"] or "").split(",")) if row["assertion"] else () if asserted else None
    return Link(
        mention,
        best,
        tied=row["ties"],
        stage=row["stage"],
        confidence=row["confidence"],
        nil_reason=row["nil_reason"],
        assertion=marks,
    )


def _candidate(row: Row) -> Candidate:
    prefix, _, local = row["concept_id"].partition(":")
    return Candidate(
        f"{prefix.lower()}:{local}", row["matched_name"], row["score"], row["preferred_name"] or "", row["type"] or ""
    )


@dataclass(frozen=True, slots=True)
class Compacted:
    """What the current view holds: documents and rows; versions other than the first; and what is not in it."""

    documents: int
    rows: int
    later_versions: int
    tombstones: int
    superseded: int


def compact(out: str | Path, dest: Path, *, latest: bool = False, force: bool = False) -> Compacted:
    """Write the current view of a run that is done as Parquet; with `latest`, the last version of each document alone."""
    require_file(dest, force=force)
    storage = open_storage(out)
    ledger = finished(storage)
    with storage.paths([shard.name for shard in ledger.plan.shards]) as paths:
        return _write_view(_ordered(ledger, paths), dest, latest=latest, force=force)


def _write_view(rows: pl.LazyFrame, dest: Path, *, latest: bool, force: bool) -> Compacted:
    by_document = rows.filter(pl.col("document") != "").group_by("document")
    last = by_document.agg(pl.col(_ORDER).max(), states=pl.col(_ORDER).n_unique()).collect(engine="streaming")
    kept = last.filter(pl.col(_ORDER) % 2 == 0)
    if latest:
        kept = _latest(kept)
    with whole_path(dest, force=force) as new:
        # the order of the rows is that of the files that were read: the same ones give the same bytes
        joined = rows.join(kept.lazy(), on=["document", _ORDER], how="semi", maintain_order="left").drop(_ORDER)
        joined.sink_parquet(new, compression="zstd", engine="streaming", maintain_order=True)
        written = pl.scan_parquet(new).select(pl.len()).collect().item()
    versions = kept.filter(pl.col("document").str.contains(_VERSIONED)).height
    tombstones = last.filter(pl.col(_ORDER) % 2 == 1).height
    return Compacted(kept.height, written, versions, tombstones, int(last["states"].sum()) - last.height)


def _ordered(ledger: Ledger, paths: list[Path]) -> pl.LazyFrame:
    """Return all rows with a number that grows with the file, the document in it, and from a document to its deletion."""
    names = {part.name for shard in ledger.plan.shards for group in shard.groups for part in group.files}
    in_order = sorted(names, key=lambda name: (PurePosixPath(name).name, name))
    ranks = pl.LazyFrame({"source": in_order, "rank": range(len(in_order))}, schema={"source": pl.String, "rank": pl.Int64})
    number = (pl.col("rank") * 2**31 + pl.col("ordinal")) * 2 + (pl.col("row") == "deleted").cast(pl.Int64)
    rows = pl.scan_parquet(paths).join(ranks, on="source", how="left", maintain_order="left")
    return rows.with_columns(number.alias(_ORDER)).drop("rank")


def _latest(kept: pl.DataFrame) -> pl.DataFrame:
    """Keep the highest version of each document."""
    base = pl.col("document").str.replace(_VERSIONED, "$1")
    version = pl.col("document").str.extract(_VERSIONED, 2).cast(pl.Int64).fill_null(1)
    return (
        kept.with_columns(base.alias("base"), version.alias(_VERSION))
        .sort(_VERSION)
        .unique("base", keep="last")
        .select("document", _ORDER)
    )
