"""Export of a run to one file: a table, documents in a corpus format, FHIR or OMOP, or the current view.

The output of a run has no text of documents; to export documents, the inputs are read again and must not have changed. Tables
and the current view write ids as `MESH:D009203`.

The current view is for baseline and update files, such as those of PubMed: it has the latest state of each document, without
deleted documents. A document is a PMID with its version. A later state has a file with a later name, or a later position in
the same file. A deletion holds until a later file contains the document again. If the latest state of a document could not be
linked, the earlier state is still dropped, because it is outdated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from onym.batch.inputs import GroupReading
from onym.batch.ledger import Ledger, require_finished
from onym.batch.plan import Shard
from onym.batch.rows import CANDIDATES, NOT_IN_TABLES, SCHEMA_VERSION, flat_columns
from onym.corpora.base import documents_of
from onym.corpora.corpus import Written, write_linked_corpus
from onym.errors import ConfigError, InputError, InternalError
from onym.fields import from_cells
from onym.outputs.base import NO_OPTIONS, PREDICTIONS, TABLE, ExportOptions, OutputContext, format_of_path, write_output
from onym.outputs.links import require_linked_output
from onym.outputs.rows import write_rows
from onym.registry import OUTPUTS
from onym.store.hidden import owner_only
from onym.store.output import require_file, whole_file, whole_path
from onym.store.storage import Storage, open_storage
from onym.types import COLUMNS, EVIDENCE, Candidate, Document, Link, LinkedDocument, Mention, kinds_of, style_id

_ROWS = 10_000
_ORDER, _VERSION = "order", "version"
_VERSIONED = r"^([0-9]+)\.([0-9]+)$"
Row = dict[str, Any]
_NO_ROWS: tuple[Any, Iterator[Row]] = (None, iter(()))


def export(
    out: str | Path,
    dest: Path,
    format: str = "",  # noqa: A002
    *,
    options: ExportOptions = NO_OPTIONS,
    force: bool = False,
) -> Written:
    """Write the output of a finished run, and return the number of documents, or the number of mentions of a table.

    By default, the file extension selects the format. Tables have the extension .parquet, .csv, .tsv, .jsonl or .xlsx, and
    are the default. Exports of a private run are private: mode 0600 for files, and 0700 for folders.
    """
    format = format or format_of_path(dest, prefer=TABLE) or TABLE  # noqa: A001
    require_linked_output(dest, format, options=options, force=force)
    if format in OUTPUTS:
        require_file(dest, force=force)  # stdout is rejected, because the command prints the counts there
    storage = open_storage(out)
    ledger = require_finished(storage)
    if format == PREDICTIONS:
        _require_candidates(ledger)
    with owner_only(ledger.plan.settings.private):
        if format == TABLE:
            return Written(mentions=_write_table(ledger, storage, dest, force=force))
        if format in OUTPUTS:
            return Written(documents=_write_export(ledger, storage, dest, format, options, force=force))
        return write_linked_corpus(_iter_shards(ledger, storage), dest, format, force=force)


def iter_linked(out: str | Path) -> tuple[dict[str, Any], Iterator[LinkedDocument]]:
    """Return what the links of a finished run depend on, and its linked documents. The inputs are read and verified again.

    Documents that could not be linked are skipped.
    """
    storage = open_storage(out)
    ledger = require_finished(storage)
    _require_candidates(ledger)
    return ledger.plan.source, _iter_shards(ledger, storage, complete=True)


def _require_candidates(ledger: Ledger) -> None:
    """Raise ConfigError for a run of an earlier Onym version, which stored only the best concept of a mention."""
    if any(receipt.format < SCHEMA_VERSION for receipt in ledger.receipts.values()):
        what = "all candidates are needed, but this run of an earlier Onym only stored the best concept"
        raise ConfigError("config-invalid", what, fix="choose another format, or plan and run it again in a new folder")


def _write_export(
    ledger: Ledger,
    storage: Storage,
    dest: Path,
    format: str,  # noqa: A002
    options: ExportOptions,
    *,
    force: bool,
) -> int:
    """Write the linked documents, with text only if the run has text."""
    settings, count = ledger.plan.settings, 0

    def iter_linked_documents() -> Iterator[LinkedDocument]:
        nonlocal count
        for each in _iter_shards(ledger, storage, complete=True):
            count += 1
            yield each

    context = OutputContext(dest, ledger.plan.source, settings.text, options=options, force=force)
    write_output(iter_linked_documents(), format, context)
    return count


def _write_table(ledger: Ledger, storage: Storage, dest: Path, *, force: bool) -> int:
    has_text = ledger.plan.settings.text
    columns = kinds_of([name for name in COLUMNS if has_text or name != "text"])
    written = 0

    def values() -> Iterator[list[Any]]:
        nonlocal written
        for shard in ledger.plan.shards:
            for row in _rows(shard, storage, ["row", *columns]):
                if row["row"] == "mention":
                    written += 1
                    row["concept_id"] = row["concept_id"] and style_id(row["concept_id"])
                    yield [row[name] for name in columns]

    with whole_file(dest, force=force) as file:
        write_rows(values(), columns, dest, file)
    return written


def _rows(shard: Shard, storage: Storage, columns: Sequence[str] | None = None) -> Iterator[Row]:
    with storage.open(shard.name) as file:
        table = pq.ParquetFile(file, page_checksum_verification=True)
        for batch in table.iter_batches(_ROWS, columns=columns, use_threads=False):
            yield from batch.to_pylist()


def _iter_shards(ledger: Ledger, storage: Storage, *, complete: bool = False) -> Iterator[LinkedDocument]:
    """Yield the linked documents of all shards."""
    asserted = ledger.plan.settings.assertion
    for shard in ledger.plan.shards:
        yield from _read_linked(shard, storage, asserted=asserted, complete=complete)


def _read_linked(shard: Shard, storage: Storage, *, asserted: bool = True, complete: bool = False) -> Iterator[LinkedDocument]:
    """Yield the documents of a shard with their links: texts from the inputs, links from the output, in the same order.

    With `complete`, documents that could not be linked are skipped. With `asserted`, a mention without assertion marks gets an
    empty tuple instead of None (unknown).
    """
    rows = (row for row in _rows(shard, storage) if row["row"] in ("mention", "none"))
    groups = groupby(rows, key=lambda row: (row["source"], row["ordinal"]))
    key, found = next(groups, _NO_ROWS)
    for planned in shard.groups:
        for doc in documents_of(GroupReading(planned)):
            is_linked = key == (doc.source, doc.ordinal)
            if is_linked or not complete:
                mentions = [row for row in found if row["row"] == "mention"] if is_linked else []
                yield LinkedDocument(doc, tuple(_link(row, doc, asserted=asserted) for row in mentions))
            if is_linked:
                key, found = next(groups, _NO_ROWS)
    if key is not None:
        raise InternalError("internal-error", "rows of a shard belong to no document, or are not in document order")


def _link(row: Row, doc: Document, *, asserted: bool) -> Link:
    if row["end"] > len(doc.text):
        what, fix = "an input file has changed since it was linked", "restore the file, or make a new plan in a new folder"
        raise InputError("batch-input-changed", what, where=doc.source, fix=fix)
    mention = Mention(row["start"], row["end"], doc.text[row["start"] : row["end"]], type=row["type"] or "")
    known = from_cells(row, EVIDENCE) | {each.name: each.from_cell(row.get(each.name)) for each in NOT_IN_TABLES}
    return Link(mention, _candidates(row), **({"assertion": ()} if asserted else {}) | known)


def _candidates(row: Row) -> tuple[Candidate, ...]:
    """Return the candidates of a row, or only the best one if the run stored only that. The best one has the row's type."""
    found = row.get(CANDIDATES)
    if found is None:
        found = [] if row["concept_id"] is None else [row]
    return tuple(_candidate(each, "" if rank else row["type"] or "") for rank, each in enumerate(found))


def _candidate(values: Row, kind: str) -> Candidate:
    prefix, _, local = values["concept_id"].partition(":")
    return Candidate(f"{prefix.lower()}:{local}", values["matched_name"], values["score"], values["preferred_name"] or "", kind)


@dataclass(frozen=True, slots=True)
class Compacted:
    """Counts of the current view: documents, rows, versions above 1, and how many deleted and superseded states it omits."""

    documents: int
    rows: int
    later_versions: int
    tombstones: int
    superseded: int


def compact(out: str | Path, dest: Path, *, latest: bool = False, force: bool = False) -> Compacted:
    """Write the current view of a finished run as Parquet; with `latest`, only the last version of each document."""
    require_file(dest, force=force)
    storage = open_storage(out)
    ledger = require_finished(storage)
    names = [shard.name for shard in ledger.plan.shards]
    with owner_only(ledger.plan.settings.private), storage.paths(names) as paths:
        return _write_view(_sort_rows(ledger, paths), dest, latest=latest, force=force)


def _write_view(rows: pl.LazyFrame, dest: Path, *, latest: bool, force: bool) -> Compacted:
    by_document = rows.filter(pl.col("document") != "").group_by("document")
    last = by_document.agg(pl.col(_ORDER).max(), states=pl.col(_ORDER).n_unique()).collect(engine="streaming")
    kept = last.filter(pl.col(_ORDER) % 2 == 0)
    if latest:
        kept = _latest(kept)
    with whole_path(dest, force=force) as new:
        # keep the order of the input files, so that the output is reproducible
        joined = rows.join(kept.lazy(), on=["document", _ORDER], how="semi", maintain_order="left").drop(_ORDER)
        joined.sink_parquet(new, compression="zstd", engine="streaming", maintain_order=True)
        written = pl.scan_parquet(new).select(pl.len()).collect().item()
    versions = kept.filter(pl.col("document").str.contains(_VERSIONED)).height
    tombstones = last.filter(pl.col(_ORDER) % 2 == 1).height
    return Compacted(kept.height, written, versions, tombstones, int(last["states"].sum()) - last.height)


def _sort_rows(ledger: Ledger, paths: list[Path]) -> pl.LazyFrame:
    """Return all rows with a sort key: by file, then by position in the file. A deletion comes after its document."""
    names = {part.name for shard in ledger.plan.shards for group in shard.groups for part in group.files}
    in_order = sorted(names, key=lambda name: (PurePosixPath(name).name, name))
    ranks = pl.LazyFrame({"source": in_order, "rank": range(len(in_order))}, schema={"source": pl.String, "rank": pl.Int64})
    number = (pl.col("rank") * 2**31 + pl.col("ordinal")) * 2 + (pl.col("row") == "deleted").cast(pl.Int64)
    rows = _flat_rows(ledger, paths).join(ranks, on="source", how="left", maintain_order="left")
    return rows.with_columns(number.alias(_ORDER)).drop("rank")


def _flat_rows(ledger: Ledger, paths: list[Path]) -> pl.LazyFrame:
    """Return the rows of all shards, of any schema version, with the columns and the style of ids that tables have."""
    by_version: dict[int, list[Path]] = {}
    for shard, path in zip(ledger.plan.shards, paths, strict=True):
        by_version.setdefault(ledger.receipts[shard.number].format, []).append(path)
    names, concept_id = list(flat_columns(text=ledger.plan.settings.text)), pl.col("concept_id")
    shown = concept_id.str.extract("^([^:]*)").str.to_uppercase() + concept_id.str.extract("(?s)(:.*)$")
    return pl.concat([pl.scan_parquet(each).select(names) for each in by_version.values()]).with_columns(
        shown.alias("concept_id")
    )


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
