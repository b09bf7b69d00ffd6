"""From a frame with some of the schema's columns to batches of the whole schema."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.kb.schema import SCHEMA
from onym.types import NameKind

_COMPACT = pl.CompatLevel.oldest()  # strings as contiguous bytes, as the schema has them


def batches(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    """Yield the frame in the schema of all readers; columns that it lacks are unknown.

    >>> [batch.schema.equals(SCHEMA) for batch in batches(pl.DataFrame({"concept_id": ["demo:1"], "name": ["Fever"]}))]
    [True]
    """
    if frame.height:
        rows = frame.select(name for name in SCHEMA.names if name in frame.columns).to_arrow(compat_level=_COMPACT)
        columns = [
            rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(frame.height, field.type)
            for field in SCHEMA
        ]
        yield from pa.table(columns, schema=SCHEMA).to_batches()


def kind(value: NameKind) -> pl.Expr:
    """Return a kind as a literal column."""
    return pl.lit(int(value), dtype=pl.UInt8).alias("kind")


def bar_list(column: str, separator: str = "|") -> pl.Expr:
    """Return a column of `a| b|c` as lists, members without space around them and without empty ones."""
    member = pl.element().str.strip_chars()
    return pl.col(column).str.split(separator).list.eval(member.filter(member != ""))


def omim_numbers() -> pl.Expr:
    """Return the members of a list, for `list.eval`, with OMIM's prefix before bare numbers: MEDIC writes them so."""
    return pl.element().str.replace(r"^([0-9]+)$", "omim:${1}")
