"""Cross-references between current concepts of two vocabularies, and which of them are one-to-one."""

from __future__ import annotations

import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.joins.rule import oriented


def xref_edges(xrefs: pl.DataFrame, standing: pl.DataFrame, ranks: pl.DataFrame, *, merge: bool = True) -> pl.DataFrame:
    """Return (low, high, one_to_one) for each cross-reference between two current concepts; none unless `merge`."""
    current = standing.rename({"concept": "xref"}) if merge else standing.rename({"concept": "xref"}).clear()
    both = xrefs.join(current, on="xref", how="semi", maintain_order="left").rename({"concept": "a", "xref": "b"})
    pairs = oriented(both, ranks).select("low", "high").unique(maintain_order=True)
    single = (pl.len().over("low", prefix_of("high")) == 1) & (pl.len().over("high", prefix_of("low")) == 1)
    return pairs.with_columns(one_to_one=single)
