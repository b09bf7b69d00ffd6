"""From a frame with some of the schema's columns to batches of the whole schema."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.kb.schema import SCHEMA
from onym.types import NameKind

_DTYPES: dict[str, pl.DataType] = {
    "concept_id": pl.String(),
    "name": pl.String(),
    "kind": pl.UInt8(),
    "language": pl.String(),
    "source": pl.String(),
    "semantic_types": pl.List(pl.String()),
    "definition": pl.String(),
    "xrefs": pl.List(pl.String()),
    "replaced_by": pl.String(),
}


def batches(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    """Yield the frame in the schema of all readers; columns that it lacks are unknown.

    >>> [batch.schema.equals(SCHEMA) for batch in batches(pl.DataFrame({"concept_id": ["demo:1"], "name": ["Fever"]}))]
    [True]
    """
    if frame.height:
        columns = [
            pl.col(name).cast(dtype) if name in frame.columns else pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in _DTYPES.items()
        ]
        yield from frame.select(columns).to_arrow().cast(SCHEMA).to_batches()


def kind(value: NameKind) -> pl.Expr:
    """Return a kind as a literal column."""
    return pl.lit(int(value), dtype=pl.UInt8).alias("kind")


def bar_list(column: str, separator: str = "|") -> pl.Expr:
    """Return a column of `a|b|c` as lists without empty members."""
    return pl.col(column).str.split(separator).list.eval(pl.element().filter(pl.element() != ""))


def omim_numbers() -> pl.Expr:
    """Return the members of a list, for `list.eval`, with OMIM's prefix before bare numbers: MEDIC writes them so."""
    return pl.element().str.strip_chars().str.replace(r"^([0-9]+)$", "omim:${1}")
