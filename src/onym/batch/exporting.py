"""Export of a run to one file: a table, documents in a corpus format, FHIR or OMOP, or the current view.

The output of a run has no text of documents; to export documents, the inputs are read again and must not have changed. Tables
and the current view write ids as `MESH:D009203`.

The current view is for baseline and update files, such as those of PubMed: it has the latest state of each document, without
deleted documents. A document is a PMID with its version. A later state has a file with a later name, or a later position in
the same file. A deletion holds until a later file contains the document again. If the latest state of a document could not be
linked, the earlier state is still dropped, because it is outdated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
import pyarrow as pa

from onym.batch.inputs import GroupReading
from onym.batch.ledger import Ledger, require_finished
from onym.batch.plan import Shard
from onym.batch.rows import CANDIDATES, NOT_IN_TABLES, SCHEMA_VERSION, flat_columns, iter_tables, schema_of
from onym.corpora.base import documents_of
from onym.corpora.corpus import Written, write_linked_corpus
from onym.errors import ConfigError, InputError, InternalError
from onym.fields import from_cells
from onym.outputs.base import NO_OPTIONS, PREDICTIONS, TABLE, ExportOptions, OutputContext, format_of_path, write_output
from onym.outputs.links import require_linked_output
from onym.outputs.rows import write_rows
from onym.registry import OUTPUTS
from onym.store.files.parquet import write_parquet
from onym.store.hidden import owner_only
from onym.store.output import require_file, whole_file
from onym.store.storage import Storage, open_storage
from onym.types import COLUMNS, EVIDENCE, Candidate, Document, Link, LinkedDocument, Mention, kinds_of, style_id

_GROUP_ROWS = 50_000  # rows per row group of a compacted file
_ORDER, _VERSION = "order", "version"
_VERSIONED = r"^([0-9]+)\.([0-9]{1,9})$"  # other ids, such as 123.99999999999999999999, are whole
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


def _rows(shard: Shard, storage: Storage, columns: Sequence[str] = ()) -> Iterator[Row]:
    for table in iter_tables(storage, shard.name, columns):
        for batch in table.to_batches():
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
    with owner_only(ledger.plan.settings.private):
        return _write_view(_View(ledger, storage), dest, latest=latest, force=force)


def _regroup(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of one size, so that the file does not depend on how the run was divided into shards."""
    waiting: list[pa.RecordBatch] = []
    room = _GROUP_ROWS
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, room)
            waiting.append(part)
            start, room = start + part.num_rows, room - part.num_rows
            if not room:
                yield pa.concat_batches(waiting)
                waiting, room = [], _GROUP_ROWS
    if waiting:
        yield pa.concat_batches(waiting)


def _write_view(view: _View, dest: Path, *, latest: bool, force: bool) -> Compacted:
    last = view.states().group_by("document").agg(pl.col(_ORDER).max(), states=pl.col(_ORDER).n_unique())
    kept = last.filter(pl.col(_ORDER) % 2 == 0)
    if latest:
        kept = _latest(kept)
    written = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal written
        for batch in view.iter_rows(kept):
            written += batch.num_rows
            yield batch

    with whole_file(dest, force=force) as file:
        write_parquet(_regroup(batches()), view.schema, file)
    versions = kept.filter(pl.col("document").str.contains(_VERSIONED)).height
    tombstones = last.filter(pl.col(_ORDER) % 2 == 1).height
    return Compacted(kept.height, written, versions, tombstones, int(last["states"].sum()) - last.height)


class _View:
    """Reads the rows of all shards, of any schema version, with the columns and the style of ids that tables have.

    The order of a row's state is by file, then by position in the file. A deletion comes after its document.
    """

    def __init__(self, ledger: Ledger, storage: Storage) -> None:
        self._shards, self._storage = ledger.plan.shards, storage
        names = list(flat_columns(text=ledger.plan.settings.text))
        self.schema = pa.schema([schema_of().field(name) for name in names])
        files = {part.name for shard in self._shards for group in shard.groups for part in group.files}
        in_order = sorted(files, key=lambda name: (PurePosixPath(name).name, name))
        self._ranks = pl.DataFrame(
            {"source": in_order, "rank": range(len(in_order))}, schema={"source": pl.String, "rank": pl.Int64}
        )

    def states(self) -> pl.DataFrame:
        """Return the states of all documents: a row for each document and order."""
        columns = ["document", "source", "ordinal", "row"]
        tables = (table for shard in self._shards for table in iter_tables(self._storage, shard.name, columns))
        empty = pl.DataFrame(schema={"document": pl.String, _ORDER: pl.Int64})
        frames = (self._order(table).filter(pl.col("document") != "") for table in tables)
        return pl.concat([empty, *(frame.select(empty.columns).unique() for frame in frames)])

    def iter_rows(self, kept: pl.DataFrame) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some states, in the order of the shards, so that the output is reproducible."""
        concept_id = pl.col("concept_id")
        shown = concept_id.str.extract("^([^:]*)").str.to_uppercase() + concept_id.str.extract("(?s)(:.*)$")
        for shard in self._shards:
            for table in iter_tables(self._storage, shard.name, self.schema.names):
                rows = self._order(table).join(kept, on=["document", _ORDER], how="semi", maintain_order="left")
                found = rows.with_columns(shown.alias("concept_id")).select(self.schema.names)
                yield from found.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(self.schema).to_batches()

    def _order(self, table: pa.Table) -> pl.DataFrame:
        """Return rows with the order of their states."""
        rows = pl.DataFrame(pl.from_arrow(table)).join(self._ranks, on="source", how="left", maintain_order="left")
        number = (pl.col("rank") * 2**31 + pl.col("ordinal")) * 2 + (pl.col("row") == "deleted").cast(pl.Int64)
        return rows.with_columns(number.alias(_ORDER))


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
