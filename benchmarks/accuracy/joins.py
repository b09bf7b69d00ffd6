"""Count the merged concepts of the open knowledge base by rule, and measure the precision of merging.

Precision is measured for merges by name and by shared id, on concepts whose cross-references were hidden from the build.
`--quick` leaves out the supplementary records, which are most of the chemicals.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterator
from types import MappingProxyType

import polars as pl

from benchmarks.accuracy.kb_open import make_joined_recipe
from benchmarks.report import data_folder
from onym.kb.curie import prefix_of
from onym.kb.gather import Gathered, decide, gather
from onym.kb.joins import JoinRule, orient_pairs
from onym.kb.recipe import Recipe

LOWER_BOUNDS = MappingProxyType({"held_out_precision": 0.98})
UPPER_BOUNDS = MappingProxyType({"fused_in_one_source": 0})
_QUICK_FOLDS = 2


def run(options: argparse.Namespace) -> dict[str, object]:
    recipe = make_joined_recipe(quick=options.quick)
    found = gather(recipe, data_folder(), lambda _what, _rows: None)
    joins = decide(found, recipe, found.successors.frame()).identity.joins
    judged = judge_held_out_joins(found, recipe, _QUICK_FOLDS if options.quick else FOLDS)
    return {
        "joined": by_rule(joins),
        "joined_in_all": joins.height,
        "fused_in_one_source": count_fused_in_one_source(joins),
        "held_out_precision": precision(judged),
        "held_out_joins": judged.height,
        "held_out_joins_by_rule": by_rule(judged),
        "held_out_right_by_rule": by_rule(judged.filter("is_right")),
    }


def by_rule(joins: pl.DataFrame) -> dict[str, int]:
    """Count merges by vocabulary and rule."""
    rows = joins.select(prefix_of("concept"), "rule").iter_rows()
    return {f"{prefix} {JoinRule(rule).label}": count for (prefix, rule), count in sorted(Counter(rows).items())}


def count_fused_in_one_source(joins: pl.DataFrame) -> int:
    """Count the concepts with two ids of the same vocabulary."""
    members = pl.concat([joins.select("final", "concept"), joins.select("final", concept="final").unique()])
    return members.filter(pl.len().over("final", prefix_of("concept")) > 1)["final"].n_unique()


def precision(judged: pl.DataFrame) -> float:
    """Return the share of merges that are right."""
    return round(float(judged["is_right"].sum()) / max(1, judged.height), 4)


# Merges, evaluated by cross-references that were hidden from the build.

FOLDS = 5
_BEYOND_XREFS = [int(JoinRule.SHARED_ID), int(JoinRule.NAME)]


def judge_held_out_joins(found: Gathered, recipe: Recipe, folds: int = FOLDS) -> pl.DataFrame:
    """Return the merges that can be evaluated, with the columns concept, final, rule, is_right."""
    return pl.concat([_select_judgeable(_joins(found, recipe, xrefs), hidden) for xrefs, hidden in _folds(found, folds)])


def _folds(found: Gathered, folds: int) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield, per fold, the visible cross-references, and the hidden ones as pairs of concept ids (columns low, high)."""
    ids = found.ids.column().unique(maintain_order=True).to_frame("id")
    ranks = ids.select(prefix=prefix_of("id")).unique(maintain_order=True).with_row_index("rank")
    xrefs = found.xrefs.frame().unique()
    between = xrefs.join(ids, left_on="concept", right_on="id", how="semi").join(ids, left_on="xref", right_on="id", how="semi")
    pairs = orient_pairs(between.with_columns(a="concept", b="xref"), ranks)
    dealt = pairs.with_columns(fold=pl.Series([_fold(low, folds) for low in pairs["low"]], dtype=pl.UInt8))
    for fold in range(folds):
        hidden = dealt.filter(pl.col("fold") == fold)
        yield xrefs.join(hidden, on=["concept", "xref"], how="anti"), hidden.select("low", "high").unique()


def _fold(concept_id: str, folds: int) -> int:
    return hashlib.sha256(concept_id.encode()).digest()[0] % folds


def _joins(found: Gathered, recipe: Recipe, xrefs: pl.DataFrame) -> pl.DataFrame:
    """Return the merges made by rules that need no direct cross-reference between the two concepts."""
    found.decided, found.dropped = Counter(), Counter()
    joins = decide(found, recipe, found.successors.frame(), xrefs).identity.joins
    return joins.filter(pl.col("rule").is_in(_BEYOND_XREFS))


def _select_judgeable(joins: pl.DataFrame, hidden: pl.DataFrame) -> pl.DataFrame:
    """Keep only merges that can be judged: a cross-reference from one concept to the other's vocabulary was hidden."""
    ends = joins.with_columns(low_prefix=prefix_of("concept"), high_prefix=prefix_of("final"))
    lost = hidden.with_columns(low_prefix=prefix_of("low"), high_prefix=prefix_of("high"))
    low = ends.join(lost, left_on=["concept", "high_prefix"], right_on=["low", "high_prefix"], how="semi")
    high = ends.join(lost, left_on=["final", "low_prefix"], right_on=["high", "low_prefix"], how="semi")
    judged = pl.concat([low, high]).unique()
    said = hidden.select(concept="low", final="high", is_right=pl.lit(value=True))
    judged = judged.join(said, on=["concept", "final"], how="left")
    return judged.select("concept", "final", "rule", pl.col("is_right").fill_null(value=False))
