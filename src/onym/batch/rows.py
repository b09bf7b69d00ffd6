"""The file of a shard: the rows of the flat table with what accounts for every document, and a receipt in the footer.

`row` says what a row is: a `mention`, a document with `none`, a `problem`, or a document that an update file says is `deleted`.
Documents are told apart by `source` and `ordinal`, the file and the number in it. The digest of rows does not depend on how a
library encodes them.

Ids of concepts are CURIEs, and `candidates` holds all candidates of a mention, best first, also where it is left unlinked. That
is version 2; in version 1, ids are written as `MESH:D009203`, and there are no candidates. Both are read.

The receipt says what became of the shard: its key, counts, and the digest of its rows. A file with the receipt of the right key
is done; there is nothing else to keep, and nothing that could contradict it. Its format is the version of the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from onym.config import Strict
from onym.corpora.base import DELETED
from onym.errors import IntegrityError
from onym.store.storage import Storage
from onym.types import COLUMNS, EVIDENCE, Candidate, LinkedDocument, Problem, kinds_of

SCHEMA_VERSION = 2
RECEIPT = b"onym"
"""The key of the receipt in the footer of a file."""
CANDIDATES = "candidates"
ROW_KINDS = ("mention", "none", "problem", "deleted")
_OWN = {"source": str, "ordinal": int, "row": str, "problem": str}
_TYPES: dict[type, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64()}
NOT_IN_TABLES = tuple(each for each in EVIDENCE if not each.column)
_CANDIDATE = pa.struct(
    [(name, _TYPES[kind]) for name, kind in kinds_of(["concept_id", "preferred_name", "matched_name", "score"]).items()]
)
_ROWS = 10_000  # of a row group
_TEXT = "text"


def flat_columns(*, text: bool = True) -> dict[str, type]:
    """Return the columns of the flat table with what accounts for every document: those of version 1.

    >>> list(flat_columns(text=False))[:6]
    ['document', 'source', 'ordinal', 'row', 'problem', 'start']
    """
    names = [name for name in COLUMNS[1:] if text or name != _TEXT]
    return {COLUMNS[0]: str, **_OWN, **kinds_of(names)}


def schema_of(*, text: bool = True) -> pa.Schema:
    """Return the columns of a shard's output: the flat ones, evidence that is in no table, and the candidates.

    >>> schema_of().names[-2:]
    ['detection_score', 'candidates']
    """
    kinds = flat_columns(text=text) | {each.name: each.cell_kind for each in NOT_IN_TABLES}
    return pa.schema([*((name, _TYPES[kind]) for name, kind in kinds.items()), (CANDIDATES, pa.list_(_CANDIDATE))])


class RowWriter:
    """Writes rows by columns, and keeps their number and their digest."""

    def __init__(self, file: BinaryIO, *, text: bool = True) -> None:
        self.rows = 0
        self._schema = schema_of(text=text)
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}
        self._digest = hashlib.sha256()
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd", write_page_checksum=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let go of the file, finished or not: without a receipt it is none of ours."""
        if self._writer.is_open:
            self._writer.close()

    def add_linked(self, linked: LinkedDocument) -> None:
        """Add a row for each mention of a document; or one that says that it has none, or why it could not be linked."""
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
        """Add a problem of a document or a file, or the deletion of a document."""
        own = {"source": source or problem.source, "ordinal": ordinal or problem.ordinal}
        if problem.code == DELETED:
            self._add({"document": problem.document_id, **own, "row": "deleted"})
        else:
            self._add({"document": problem.document_id, **own, "row": "problem", "problem": problem.code})

    def digest(self) -> str:
        """Return the digest of all rows, which are written then."""
        self._flush()
        return self._digest.hexdigest()

    def close(self, receipt: bytes) -> None:
        """Finish the file with a receipt in its footer."""
        self._flush()
        self._writer.add_key_value_metadata({RECEIPT: receipt})
        self._writer.close()

    def _add(self, row: Mapping[str, Any]) -> None:
        for name, values in self._columns.items():
            values.append(row.get(name))
        self.rows += 1
        if self.rows % _ROWS == 0:
            self._flush()

    def _flush(self) -> None:
        if self._columns["row"]:
            columns = self._columns | {CANDIDATES: _candidate_lists(self._columns[CANDIDATES])}
            batch = pa.RecordBatch.from_pydict(columns, schema=self._schema)
            update_digest(self._digest, batch)
            self._writer.write_batch(batch)
            self._columns = {name: [] for name in self._schema.names}


def _candidate_lists(found: Sequence[Sequence[Candidate] | None]) -> pa.ListArray:
    """Return the candidates of rows by columns; None for a row that is no mention."""
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
    """Feed rows to a digest, column by column: which values are there, how long texts and lists are, and the values."""
    for name in rows.schema.names:
        column = rows.column(name)
        _update_column(digest, column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _update_column(digest: Any, column: pa.Array) -> None:
    digest.update(pc.is_valid(column).to_numpy(zero_copy_only=False).tobytes())
    if pa.types.is_list(column.type):
        digest.update(pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).tobytes())
        for values in column.flatten().flatten():  # of the lists, then of the structs in them
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
    """An input file: how many of its documents were read, and why it was not read to its end, if it was not."""

    name: str
    documents: int = Field(ge=0)
    code: str = ""


class Receipt(Strict):
    """What became of a shard. `problems` counts documents, mentions and files that could not be read or linked, by code."""

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


def read_receipt(storage: Storage, name: str) -> Receipt | None:
    """Return the receipt of a shard's output; None for a file that is torn or none of ours. A newer format is refused."""
    try:
        with storage.open(name) as file:
            data = (pq.read_metadata(file).metadata or {}).get(RECEIPT)
        values = None if data is None else json.loads(data)
    except (pa.ArrowException, OSError, ValueError):
        return None
    if not isinstance(values, dict):
        return None
    if isinstance(values.get("format"), int) and values["format"] > SCHEMA_VERSION:
        what = f"a receipt has format {values['format']}, while this Onym reads up to {SCHEMA_VERSION}"
        raise IntegrityError("batch-version", what, where=f"{storage.url}/{name}", fix="use a newer Onym")
    try:
        return Receipt.model_validate(values)
    except ValidationError:
        return None
