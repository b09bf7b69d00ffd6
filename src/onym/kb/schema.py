"""The one schema of all readers: a row is a statement about a concept, and only `concept_id` is always there.

A row with a `name` gives the concept that name; a row without one gives it types, a definition, cross-references, other ids of
its own or a successor. A cross-reference leads to a concept of another vocabulary; an alternative id is this very concept. A
row of kind `retired` says that the concept is no longer current, and `replaced_by` names its successor. `broader` names more
general concepts of the same vocabulary, and `groups` semantic groups (`groups.py`) that the source states itself.
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
        pa.field("replaced_by", pa.large_string()),
        pa.field("broader", pa.large_list(pa.large_string())),
        pa.field("groups", pa.large_list(pa.large_string())),
    ]
)
_BATCH_ROWS = 65_536


class Rows:
    """Rows gathered one by one into batches, for formats that are trees and not tables. `where` names the file in errors.

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
        """Add one statement; what is not given is unknown."""
        for name, column in self._columns.items():
            column.append(values.get(name))
        self._columns["concept_id"][-1] = concept_id

    def full(self) -> Iterator[pa.RecordBatch]:
        """Yield a batch when enough rows have come together."""
        if len(self._columns["concept_id"]) >= _BATCH_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield what is left."""
        if self._columns["concept_id"]:
            yield self._batch()
            self._columns = {name: [] for name in SCHEMA.names}

    def _batch(self) -> pa.RecordBatch:
        try:
            return pa.RecordBatch.from_pydict(self._columns, schema=SCHEMA)
        except UnicodeEncodeError as e:  # JSON can spell half of a character: "\\ud800"
            raise InputError("input-encoding", "half of a surrogate pair", where=self._where, fix="check the file") from e
