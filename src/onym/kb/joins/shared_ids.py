"""Both concepts refer to the same id of a third vocabulary, and no other concept of either vocabulary does."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.joins.rule import Evidence, oriented, uncontradicted, unrivalled


def by_shared_id(evidence: Evidence, vocabularies: Sequence[str]) -> pl.DataFrame:
    """Return pairs that share an id of one of the vocabularies, such as `cas`, and that cross-references do not contradict."""
    used = evidence.shared.filter(prefix_of("xref").is_in(list(vocabularies))).unique()
    lone = used.filter(pl.len().over("xref", prefix_of("concept")) == 1)
    found = lone.rename({"concept": "a"}).join(lone.rename({"concept": "b"}), on="xref")
    found = found.filter(prefix_of("a") < prefix_of("b")).select("a", "b").unique()
    pairs = oriented(found, evidence.ranks).select("low", "high")
    return unrivalled(uncontradicted(pairs, evidence.edges)).sort("low", "high")
