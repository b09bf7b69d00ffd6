"""Joins judged by cross-references that the build was not shown.

Concepts that have a cross-reference to a vocabulary before their own, or from one, are dealt into folds. The cross-references
of one fold after the other are taken away, and everything is joined by what is left. A join of a concept that lost one, or into
one that did, is right if the vocabularies say so themselves.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.gather import Gathered, decide
from onym.kb.joins import JoinRule, oriented
from onym.kb.recipe import Recipe

FOLDS = 5
_BEYOND_XREFS = [int(JoinRule.SHARED_ID), int(JoinRule.NAME)]


def held_out_joins(found: Gathered, recipe: Recipe, folds: int = FOLDS) -> pl.DataFrame:
    """Return the joins that can be judged: concept, final, rule, is_right."""
    return pl.concat([_judged(_joins(found, recipe, xrefs), hidden) for xrefs, hidden in _folds(found, folds)])


def _folds(found: Gathered, folds: int) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield for each fold the cross-references that are left, and the hidden pairs (low, high)."""
    ids = found.ids.column().unique(maintain_order=True).to_frame("id")
    ranks = ids.select(prefix=prefix_of("id")).unique(maintain_order=True).with_row_index("rank")
    xrefs = found.xrefs.frame().unique()
    between = xrefs.join(ids, left_on="concept", right_on="id", how="semi").join(ids, left_on="xref", right_on="id", how="semi")
    pairs = oriented(between.with_columns(a="concept", b="xref"), ranks)
    dealt = pairs.with_columns(fold=pl.Series([_fold(low, folds) for low in pairs["low"]], dtype=pl.UInt8))
    for fold in range(folds):
        hidden = dealt.filter(pl.col("fold") == fold)
        yield xrefs.join(hidden, on=["concept", "xref"], how="anti"), hidden.select("low", "high").unique()


def _fold(concept_id: str, folds: int) -> int:
    return hashlib.sha256(concept_id.encode()).digest()[0] % folds


def _joins(found: Gathered, recipe: Recipe, xrefs: pl.DataFrame) -> pl.DataFrame:
    """Return what is joined by rules that need no cross-reference between the two."""
    found.decided, found.dropped = Counter(), Counter()
    joins = decide(found, recipe, found.successors.frame(), xrefs).identity.joins
    return joins.filter(pl.col("rule").is_in(_BEYOND_XREFS))


def _judged(joins: pl.DataFrame, hidden: pl.DataFrame) -> pl.DataFrame:
    """Keep the joins of which either end lost a cross-reference to the vocabulary of the other."""
    ends = joins.with_columns(low_prefix=prefix_of("concept"), high_prefix=prefix_of("final"))
    lost = hidden.with_columns(low_prefix=prefix_of("low"), high_prefix=prefix_of("high"))
    low = ends.join(lost, left_on=["concept", "high_prefix"], right_on=["low", "high_prefix"], how="semi")
    high = ends.join(lost, left_on=["final", "low_prefix"], right_on=["high", "low_prefix"], how="semi")
    judged = pl.concat([low, high]).unique()
    said = hidden.select(concept="low", final="high", is_right=pl.lit(value=True))
    judged = judged.join(said, on=["concept", "final"], how="left")
    return judged.select("concept", "final", "rule", pl.col("is_right").fill_null(value=False))
