"""The Parquet output of a shard: rows of the flat table, rows for documents without mentions, and a receipt in the footer.

The column `row` has the kind of a row: `mention`, `none` (a document without mentions), `problem`, or `deleted` (a document
that an update file deletes). `source` and `ordinal` (file name and number in the file) identify a document. The digest of rows
is computed from their values, so it does not depend on the Parquet encoding.

Concept ids are CURIEs, and `candidates` has all candidates of a mention, best first, even if it is left unlinked. This is
schema version 2. In version 1, ids are written as `MESH:D009203` and there are no candidates. Both versions can be read.

The receipt has the shard's key, counts, and the digest of its rows. A shard is done if and only if its file has a receipt with
the right key. The format of a receipt is the schema version of the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from onym.config import Strict
from onym.corpora.base import DELETED
from onym.errors import InputError, IntegrityError, LimitError
from onym.store.files.parquet import ParquetReader
from onym.store.limits import DEFAULT_LIMITS, MIB
from onym.store.storage import Storage
from onym.types import COLUMNS, EVIDENCE, Candidate, LinkedDocument, Problem, kinds_of

SCHEMA_VERSION = 2
RECEIPT = b"onym"
"""The metadata key of the receipt in the Parquet footer."""
CANDIDATES = "candidates"
_OWN = {"source": str, "ordinal": int, "row": str, "problem": str}
_TYPES: dict[type, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64()}
NOT_IN_TABLES = tuple(each for each in EVIDENCE if not each.column)
_CANDIDATE = pa.struct(
    [(name, _TYPES[kind]) for name, kind in kinds_of(["concept_id", "preferred_name", "matched_name", "score"]).items()]
)
ROWS = 10_000
"""Maximum rows per row group of the Parquet file."""
_TEXT = "text"
# Rows of similar notes repeat names and candidates, and compress better than documents do.
LIMITS = replace(DEFAULT_LIMITS, ratio=1_000, ratio_grace_bytes=256 * MIB)
"""Limits on the files of a run; their row groups are read one at a time."""


def flat_columns(*, text: bool = True) -> dict[str, type]:
    """Return the columns of schema version 1: the flat table, plus columns that identify the document and the kind of row.

    >>> list(flat_columns(text=False))[:6]
    ['document', 'source', 'ordinal', 'row', 'problem', 'start']
    """
    names = [name for name in COLUMNS[1:] if text or name != _TEXT]
    return {COLUMNS[0]: str, **_OWN, **kinds_of(names)}


def schema_of(*, text: bool = True) -> pa.Schema:
    """Return the schema of a shard's output: the flat columns, the evidence that is not exported to tables, and the candidates.

    >>> schema_of().names[-2:]
    ['detection_score', 'candidates']
    """
    kinds = flat_columns(text=text) | {each.name: each.cell_kind for each in NOT_IN_TABLES}
    return pa.schema([*((name, _TYPES[kind]) for name, kind in kinds.items()), (CANDIDATES, pa.list_(_CANDIDATE))])


class RowBuffer:
    """Collects the rows of documents and problems as columns."""

    def __init__(self, *, text: bool = True) -> None:
        self.schema = schema_of(text=text)
        self._columns: dict[str, list[Any]] = {name: [] for name in self.schema.names}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._columns["row"])

    def add_linked(self, linked: LinkedDocument) -> None:
        """Add a row for each mention and problem of a document, or a row `none` if it has neither."""
        document = linked.document
        for problem in linked.problems:
            self.add_problem(problem, document.source, document.ordinal)
        own = {"source": document.source, "ordinal": document.ordinal}
        for row, link in zip(linked.rows("curie"), linked.links, strict=True):
            more = {each.name: each.to_cell(getattr(link, each.name)) for each in NOT_IN_TABLES}
            self._add(row | own | more | {"row": "mention", CANDIDATES: link.candidates})
        if linked.is_complete and not linked.links:
            self._add({"document": document.id, **own, "row": "none"})

    def add_problem(self, problem: Problem, source: str = "", ordinal: int = 0) -> None:
        """Add a row for a problem of a document or file, or for a deleted document."""
        own = {"source": source or problem.source, "ordinal": ordinal or problem.ordinal}
        if problem.code == DELETED:
            self._add({"document": problem.document_id, **own, "row": "deleted"})
        else:
            self._add({"document": problem.document_id, **own, "row": "problem", "problem": problem.code})

    def take(self, count: int) -> pa.RecordBatch:
        """Return the first `count` rows, and remove them."""
        first = {name: values[:count] for name, values in self._columns.items()}
        self._columns = {name: values[count:] for name, values in self._columns.items()}
        return pa.RecordBatch.from_pydict(first | {CANDIDATES: _candidate_lists(first[CANDIDATES])}, schema=self.schema)

    def _add(self, row: Mapping[str, Any]) -> None:
        for name, values in self._columns.items():
            values.append(row.get(name))


class RowWriter:
    """Writes rows to a Parquet file, and computes the digest of all rows."""

    def __init__(self, file: BinaryIO, *, text: bool = True) -> None:
        self._written = 0
        self._buffer = RowBuffer(text=text)
        self._digest = hashlib.sha256()
        self._writer = pq.ParquetWriter(file, self._buffer.schema, compression="zstd", write_page_checksum=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the file; without a receipt in its footer it does not count as output."""
        if self._writer.is_open:
            self._writer.close()

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return self._written + len(self._buffer)

    def add_linked(self, linked: LinkedDocument) -> None:
        """Add the rows of a linked document."""
        self._buffer.add_linked(linked)
        self._flush_full()

    def add_problem(self, problem: Problem, source: str = "", ordinal: int = 0) -> None:
        """Add the row of a problem, or of a deleted document."""
        self._buffer.add_problem(problem, source, ordinal)
        self._flush_full()

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows that already have the schema, as one row group."""
        self._flush()
        self._write(batch)

    def digest(self) -> str:
        """Write buffered rows and return the digest of all rows."""
        self._flush()
        return self._digest.hexdigest()

    def close(self, receipt: bytes) -> None:
        """Write the receipt into the footer and close the file."""
        self._flush()
        self._writer.add_key_value_metadata({RECEIPT: receipt})
        self._writer.close()

    def _flush_full(self) -> None:
        while len(self._buffer) >= ROWS:
            self._write(self._buffer.take(ROWS))

    def _flush(self) -> None:
        if len(self._buffer):
            self._write(self._buffer.take(len(self._buffer)))

    def _write(self, batch: pa.RecordBatch) -> None:
        self._written += batch.num_rows
        update_digest(self._digest, batch)
        self._writer.write_batch(batch)


def _candidate_lists(found: Sequence[Sequence[Candidate] | None]) -> pa.ListArray:
    """Return the column of candidates; null for rows that are not mentions."""
    flat = [each for candidates in found for each in candidates or ()]
    values = (
        [each.concept_id for each in flat],
        [each.preferred_name or None for each in flat],
        [each.name for each in flat],
        [each.score for each in flat],
    )
    structs = pa.StructArray.from_arrays(
        [pa.array(column, field.type) for column, field in zip(values, _CANDIDATE, strict=True)], fields=list(_CANDIDATE)
    )
    ends = accumulate((len(candidates or ()) for candidates in found), initial=0)
    starts = [None if candidates is None else start for candidates, start in zip([*found, ()], ends, strict=True)]
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), structs)


def update_digest(digest: Any, rows: pa.RecordBatch | pa.Table) -> None:
    """Add rows to a digest, column by column: null masks, lengths of strings and lists, and values."""
    for name in rows.schema.names:
        column = rows.column(name)
        _update_column(digest, column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _update_column(digest: Any, column: pa.Array) -> None:
    digest.update(pc.is_valid(column).to_numpy(zero_copy_only=False).tobytes())
    if pa.types.is_list(column.type):
        digest.update(pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).tobytes())
        for values in column.flatten().flatten():  # the first flatten yields the structs of the lists, the second their fields
            _update_column(digest, values)
        return
    filled = pc.fill_null(column, "" if pa.types.is_string(column.type) else 0)
    if pa.types.is_string(filled.type):
        digest.update(pc.binary_length(filled).to_numpy(zero_copy_only=False).tobytes())
        digest.update(_join_texts(filled))
    else:
        digest.update(filled.to_numpy(zero_copy_only=False).tobytes())


def _join_texts(texts: pa.StringArray) -> bytes:
    whole = pa.concat_arrays([texts])
    _, offsets, data = whole.buffers()
    if data is None or not len(whole):
        return b""
    first = int.from_bytes(offsets[whole.offset * 4 : whole.offset * 4 + 4], "little")
    last_at = (whole.offset + len(whole)) * 4
    return bytes(data[first : int.from_bytes(offsets[last_at : last_at + 4], "little")])


class FileReceipt(Strict):
    """An input file: the number of documents read, and an error code if it was not read completely."""

    name: str
    documents: int = Field(ge=0)
    code: str = ""


class Receipt(Strict):
    """The record of a finished shard. `problems` counts documents, mentions and files that failed, by code."""

    format: int = SCHEMA_VERSION
    key: str
    shard: int = Field(ge=0)
    onym: str
    documents: int = Field(ge=0)
    mentions: int = Field(ge=0)
    linked: int = Field(ge=0)
    tied: int = Field(ge=0)
    deleted: int = Field(default=0, ge=0)
    problems: dict[str, int] = Field(default_factory=dict)
    bugs: int = Field(default=0, ge=0)
    files: tuple[FileReceipt, ...] = ()
    rows: int = Field(ge=0)
    digest: str


def iter_tables(storage: Storage, name: str, columns: Sequence[str] = ()) -> Iterator[pa.Table]:
    """Yield the row groups of a shard's output, with some or all columns; raise InputError if one is not that of a shard."""
    known = schema_of()
    with storage.open(name) as file:
        reader = ParquetReader(file, name, LIMITS)
        names = columns or reader.schema.names
        if other := set(names) - set(known.names):
            what, fix = (
                f"{len(other)} columns are not those of a run",
                "link this shard again: remove it, then `onym batch run`",
            )
            raise InputError("parquet-columns", what, where=name, fix=fix)
        yield from reader.tables(pa.schema([known.field(each) for each in names]))


def read_receipt(storage: Storage, name: str) -> Receipt | None:
    """Return the receipt of an output file; None if the file is corrupt or has no receipt. Raise if its format is too new."""
    try:
        with storage.open(name) as file:
            data = ParquetReader(file, name).metadata.get(RECEIPT)
        values = None if data is None else json.loads(data)
    except (InputError, LimitError, OSError, ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    if isinstance(values.get("format"), int) and values["format"] > SCHEMA_VERSION:
        what = f"the receipt has format {values['format']}, but this version of Onym reads up to {SCHEMA_VERSION}"
        raise IntegrityError("batch-version", what, where=f"{storage.url}/{name}", fix="use a newer version of Onym")
    try:
        return Receipt.model_validate(values)
    except ValidationError:
        return None
