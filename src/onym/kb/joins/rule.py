"""The rules by which concepts are joined, and what they look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import polars as pl

from onym.kb.curie import prefix_of


class JoinRule(IntEnum):
    """Why two concepts of two vocabularies are one. The numbers stand in artefacts."""

    ONE_TO_ONE = 0  # a cross-reference that is the only one of both between their vocabularies
    MANY_TO_ONE = 1  # one of several cross-references, and the preferred name says which
    SHARED_ID = 2  # both refer to the same id of a third vocabulary, such as a CAS number
    NAME = 3  # the preferred name of one is a name of exactly one concept of the other vocabulary

    @property
    def label(self) -> str:
        """The rule as people write it."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True)
class Evidence:
    """What the rules look at. All ids are of current concepts, except those that `shared` refers to."""

    edges: pl.DataFrame  # low, high, one_to_one: cross-references between current concepts of two vocabularies
    shared: pl.DataFrame  # concept, xref: cross-references to ids of third vocabularies
    names: pl.DataFrame  # concept, name, is_preferred
    groups: pl.DataFrame  # concept, group
    ranks: pl.DataFrame  # prefix, rank: vocabularies in their order of precedence

    def after(self, joined: pl.DataFrame) -> Evidence:
        """Return the evidence after some joins, which count as cross-references for the rules that follow."""
        known = joined.select(low="concept", high="final", one_to_one=pl.lit(value=True))
        return replace(self, edges=pl.concat([self.edges, known]).unique(["low", "high"], keep="first", maintain_order=True))


def oriented(pairs: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """Return pairs `a`, `b` of two vocabularies as `low`, `high`, whatever else they carry, without those of one vocabulary."""
    for side in ("a", "b"):
        table = ranks.select(pl.col("prefix").alias(f"{side}_prefix"), pl.col("rank").alias(f"{side}_rank"))
        pairs = pairs.with_columns(prefix_of(side).alias(f"{side}_prefix"))
        pairs = pairs.join(table, on=f"{side}_prefix", how="left", maintain_order="left")
    first = pl.col("a_rank") < pl.col("b_rank")
    return pairs.filter(pl.col("a_rank") != pl.col("b_rank")).with_columns(
        high=pl.when(first).then("a").otherwise("b"), low=pl.when(first).then("b").otherwise("a")
    )


def uncontradicted(pairs: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Drop the pairs of which either concept has a cross-reference to another concept of the other's vocabulary."""
    stated = edges.select("low", "high", stated=pl.lit(value=True))
    pairs = pairs.join(stated, on=["low", "high"], how="left", maintain_order="left")
    for end, other in (("low", "high"), ("high", "low")):
        taken = edges.select(end, prefix_of(other).alias("vocabulary"), referred=pl.lit(value=True)).unique()
        pairs = pairs.with_columns(prefix_of(other).alias("vocabulary"))
        pairs = pairs.join(taken, on=[end, "vocabulary"], how="left", maintain_order="left")
        pairs = pairs.filter(pl.col("stated").is_not_null() | pl.col("referred").is_null()).drop("referred", "vocabulary")
    return pairs.drop("stated")


def unrivalled(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs whose concepts stand in no other pair of the same two vocabularies."""
    lone_low = pl.len().over("low", prefix_of("high")) == 1
    lone_high = pl.len().over("high", prefix_of("low")) == 1
    return pairs.filter(lone_low & lone_high)
