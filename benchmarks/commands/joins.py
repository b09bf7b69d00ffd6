"""Twins joined in the open knowledge base, by rule, and how often a join is what the vocabularies themselves say.

The precision is that of joins by name and by a shared id, on concepts whose cross-references were hidden from the build. The
quick size is without supplementary records, where most chemicals are.
"""

from __future__ import annotations

import argparse
from collections import Counter
from types import MappingProxyType

import polars as pl

from benchmarks.commands.kb_open import joined_recipe
from benchmarks.kb.held_out import FOLDS, held_out_joins
from benchmarks.report import data_folder
from onym.kb.curie import prefix_of
from onym.kb.gather import decide, gather
from onym.kb.joins import JoinRule

LOWER_BOUNDS = MappingProxyType({"held_out_precision": 0.98})
UPPER_BOUNDS = MappingProxyType({"fused_in_one_source": 0})
_QUICK_FOLDS = 2


def run(options: argparse.Namespace) -> dict[str, object]:
    recipe = joined_recipe(quick=options.quick)
    found = gather(recipe, data_folder(), lambda _what, _rows: None)
    joins = decide(found, recipe, found.successors.frame()).identity.joins
    judged = held_out_joins(found, recipe, _QUICK_FOLDS if options.quick else FOLDS)
    return {
        "joined": by_rule(joins),
        "joined_in_all": joins.height,
        "fused_in_one_source": fused_in_one_source(joins),
        "held_out_precision": precision(judged),
        "held_out_joins": judged.height,
        "held_out_joins_by_rule": by_rule(judged),
        "held_out_right_by_rule": by_rule(judged.filter("is_right")),
    }


def by_rule(joins: pl.DataFrame) -> dict[str, int]:
    """Count joins by vocabulary and rule."""
    rows = joins.select(prefix_of("concept"), "rule").iter_rows()
    return {f"{prefix} {JoinRule(rule).label}": count for (prefix, rule), count in sorted(Counter(rows).items())}


def fused_in_one_source(joins: pl.DataFrame) -> int:
    """Count the concepts that hold two ids of one vocabulary."""
    members = pl.concat([joins.select("final", "concept"), joins.select("final", concept="final").unique()])
    return members.filter(pl.len().over("final", prefix_of("concept")) > 1)["final"].n_unique()


def precision(judged: pl.DataFrame) -> float:
    """Return the share of joins that are right."""
    return round(float(judged["is_right"].sum()) / max(1, judged.height), 4)
