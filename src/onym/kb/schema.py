"""The Arrow schema of all readers. A row is a statement about one concept; every column but `concept_id` may be null.

A row may state a name, types, a definition, cross-references (ids of other vocabularies), alternative ids (of the same
concept), parents in the same vocabulary, and semantic groups that the source states itself. A row of kind `retired` says that
the concept is no longer current; `successors` are the ids that the source gives instead. `parent_kind` (ParentKind, `is a` if
null) and `successor_kind` (SuccessorKind, `replaced by` if null) apply to all parents and successors of the row, `release` is
the release of the vocabulary in which the id was retired, if the source names one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from onym.errors import InputError

SCHEMA = pa.schema(
    [
        pa.field("concept_id", pa.large_string(), nullable=False),
        pa.field("name", pa.large_string()),
        pa.field("kind", pa.uint8()),
        pa.field("language", pa.large_string()),
        pa.field("source", pa.large_string()),
        pa.field("semantic_types", pa.large_list(pa.large_string())),
        pa.field("definition", pa.large_string()),
        pa.field("xrefs", pa.large_list(pa.large_string())),
        pa.field("alternative_ids", pa.large_list(pa.large_string())),
        pa.field("successors", pa.large_list(pa.large_string())),
        pa.field("successor_kind", pa.uint8()),
        pa.field("release", pa.large_string()),
        pa.field("parents", pa.large_list(pa.large_string())),
        pa.field("parent_kind", pa.uint8()),
        pa.field("groups", pa.large_list(pa.large_string())),
    ]
)
_BATCH_ROWS = 65_536
_SKIPPED = b"skipped"  # key of the metadata of a batch


def make_skip_note(reason: str, rows: int) -> pa.RecordBatch:
    """Return an empty batch which says that a reader, as the recipe asks, skipped rows; the build counts them.

    >>> count_skipped(make_skip_note("row of another species", 3))
    ('row of another species', 3)
    """
    return pa.RecordBatch.from_pylist([], schema=SCHEMA.with_metadata({_SKIPPED: f"{rows} {reason}"}))


def count_skipped(batch: pa.RecordBatch) -> tuple[str, int]:
    """Return why rows were skipped, and how many; the number is 0 unless the batch comes from `make_skip_note`."""
    rows, _, reason = (batch.schema.metadata or {}).get(_SKIPPED, b"0").decode().partition(" ")
    return reason, int(rows)


class Rows:
    """Collects rows into batches, for formats that are read row by row. `where` is the file name shown in errors.

    >>> from onym.types import NameKind
    >>> rows = Rows()
    >>> rows.add("demo:1", name="Fever", kind=NameKind.PREFERRED)
    >>> [batch.num_rows for batch in rows.rest()]
    [1]
    """

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}

    def add(self, concept_id: str, **values: Any) -> None:
        """Add one row; columns not given are null."""
        if unknown := values.keys() - self._columns.keys():
            raise TypeError(f"the schema has no column {min(unknown)!r}")
        for name, column in self._columns.items():
            column.append(values.get(name))
        self._columns["concept_id"][-1] = concept_id

    def full(self) -> Iterator[pa.RecordBatch]:
        """Yield a batch if enough rows have been added."""
        if len(self._columns["concept_id"]) >= _BATCH_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield the remaining rows as a batch, if any."""
        if self._columns["concept_id"]:
            yield self._batch()
            self._columns = {name: [] for name in SCHEMA.names}

    def _batch(self) -> pa.RecordBatch:
        try:
            return pa.RecordBatch.from_pydict(self._columns, schema=SCHEMA)
        except UnicodeEncodeError as e:  # JSON can escape a lone surrogate: "\\ud800"
            fix = "remove \\ud800-\\udfff escapes that are not in pairs"
            raise InputError("input-encoding", "a lone surrogate in a string", where=self._where, fix=fix) from e
