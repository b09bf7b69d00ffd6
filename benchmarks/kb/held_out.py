"""Joins judged by cross-references that the build was not shown.

The concepts that have cross-references to a vocabulary before their own are dealt into folds. For each fold its cross-references are
taken away, and everything is joined by the other rules. A join of a concept that lost one, or into one that did, is right if it
is what the vocabularies say.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.decide import decide
from onym.kb.gather import Gathered
from onym.kb.joins.rule import JoinRule
from onym.kb.recipe import Recipe

FOLDS = 5


def held_out_joins(found: Gathered, recipe: Recipe, folds: int = FOLDS) -> pl.DataFrame:
    """Return the joins that can be judged: concept, final, rule, is_right."""
    return pl.concat([_judged(found, recipe, xrefs, hidden) for xrefs, hidden in _folds(found, folds)])


def _folds(found: Gathered, folds: int) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield for each fold the cross-references that are left, and the hidden pairs (low, high)."""
    xrefs = found.xrefs.frame()
    ids = found.ids.column().unique(maintain_order=True)
    ranks = {
        prefix: rank
        for rank, prefix in enumerate(ids.to_frame("id").select(prefix_of("id")).to_series().unique(maintain_order=True))
    }
    rank = {
        end: prefix_of(end).replace_strict(ranks, default=len(ranks), return_dtype=pl.UInt32) for end in ("concept", "xref")
    }
    is_first = rank["concept"] < rank["xref"]
    ends = xrefs.with_columns(
        low=pl.when(is_first).then("xref").otherwise("concept"), high=pl.when(is_first).then("concept").otherwise("xref")
    )
    is_between = pl.col("low").is_in(ids.implode()) & pl.col("high").is_in(ids.implode()) & (rank["concept"] != rank["xref"])
    dealt = ends.with_columns(
        fold=pl.when(is_between).then(pl.col("low").map_elements(lambda low: _fold(low, folds), return_dtype=pl.Int64))
    )
    for fold in range(folds):
        is_hidden = pl.col("fold").eq_missing(fold)
        yield dealt.filter(~is_hidden).select("concept", "xref"), dealt.filter(is_hidden).select("low", "high").unique()


def _fold(concept_id: str, folds: int) -> int:
    return hashlib.sha256(concept_id.encode()).digest()[0] % folds


def _judged(found: Gathered, recipe: Recipe, xrefs: pl.DataFrame, hidden: pl.DataFrame) -> pl.DataFrame:
    decided, dropped = found.decided, found.dropped
    found.decided, found.dropped = Counter(), Counter()
    joins = decide(found, recipe, found.successors.frame(), xrefs).identity.joins
    found.decided, found.dropped = decided, dropped
    joins = joins.filter(pl.col("rule").is_in([int(JoinRule.SHARED_ID), int(JoinRule.NAME)]))
    lows = hidden.select(concept="low", vocabulary=prefix_of("high"), lost=pl.lit(value=True)).unique()
    highs = hidden.select(final="high", from_vocabulary=prefix_of("low"), lost_too=pl.lit(value=True)).unique()
    ends = joins.with_columns(vocabulary=prefix_of("final"), from_vocabulary=prefix_of("concept"))
    ends = ends.join(lows, on=["concept", "vocabulary"], how="left").join(highs, on=["final", "from_vocabulary"], how="left")
    judged = ends.filter(pl.col("lost").is_not_null() | pl.col("lost_too").is_not_null())
    right = hidden.select(concept="low", final="high", is_right=pl.lit(value=True))
    judged = judged.join(right, on=["concept", "final"], how="left").with_columns(pl.col("is_right").fill_null(value=False))
    return judged.select("concept", "final", "rule", "is_right")
