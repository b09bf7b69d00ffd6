"""Helpers to read releases from memory."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from onym.kb import readers
from onym.kb.schema import SCHEMA
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.types import NameKind

Row = dict[str, Any]


def source_of(files: Mapping[str, bytes | str], limits: Limits = DEFAULT_LIMITS) -> Source:
    """Make a release of files in memory."""
    encoded = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
    return Source.of_files("made", [InputFile.from_bytes(name, data, limits) for name, data in encoded.items()])


def rows_of(files: Mapping[str, bytes | str], format_name: str, limits: Limits = DEFAULT_LIMITS, **options: Any) -> list[Row]:
    """Return the rows of a release without nulls, with the label of each kind; check the schema of every batch."""
    rows = []
    for batch in readers.read(source_of(files, limits), format_name, **options):
        assert batch.schema.equals(SCHEMA)
        batch.validate(full=True)
        rows += [_format_row(row) for row in batch.to_pylist()]
    return rows


def names_of(rows: list[Row]) -> list[tuple[str, str, str]]:
    """Return the names among rows: id, name, kind."""
    return [(row["concept_id"], row["name"], row["kind"]) for row in rows if "name" in row]


def facts_of(rows: list[Row], column: str) -> list[tuple[str, Any]]:
    """Return (id, value) for the non-null values of a column."""
    return [(row["concept_id"], row[column]) for row in rows if column in row]


def pack_files(files: Mapping[str, bytes], suffix: str) -> dict[str, bytes]:
    """Return the files compressed, with the suffix added to each name."""
    pack = gzip.compress if suffix == ".gz" else lambda data: pa.compress(data, codec="zstd", asbytes=True)
    return {name + suffix: pack(data) for name, data in files.items()}


def _format_row(row: Row) -> Row:
    shown = {key: value for key, value in row.items() if value is not None}
    if "kind" in shown:
        shown["kind"] = NameKind(shown["kind"]).label
    return shown
