"""The preferred name of one concept is a name of the other.

Where several pairs are possible, those come first in which both preferred names say so. What they leave is joined only if no
other pair is left for either concept.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.joins.rule import Evidence, oriented, uncontradicted, unrivalled
from onym.kb.recipe import NameRule

_BOTH, _ONE = 2, 1  # how many of the two preferred names say so
_SAID_BY = {
    "first": pl.col("high_says"),
    "either": pl.lit(value=True),
    "both": pl.col("votes") == _BOTH,
}


def by_name(evidence: Evidence, rules: Mapping[str, NameRule]) -> pl.DataFrame:
    """Return pairs of one semantic group: the preferred name of one is a name of exactly one concept of the other vocabulary.

    `rules` are those of the vocabularies of `low`, see `JoinConfig`. Cross-references must not contradict.
    """
    names = evidence.names.select("concept", "name").unique().with_columns(vocabulary=prefix_of("concept"))
    lone = names.filter(pl.len().over("vocabulary", "name") == 1).select("name", b="concept")
    found = _preferred(evidence, "a").join(lone, on="name").filter(prefix_of("a") != prefix_of("b")).select("a", "b").unique()
    said = oriented(found, evidence.ranks).with_columns(high_says=pl.col("a") == pl.col("high"))
    pairs = said.group_by("low", "high").agg(votes=pl.len(), high_says=pl.col("high_says").any())
    clear = _choose(uncontradicted(_of_one_group(pairs, evidence.groups), evidence.edges))
    return clear.filter(_allowed(rules)).select("low", "high")


def by_xref_and_name(evidence: Evidence, rules: Mapping[str, NameRule]) -> pl.DataFrame:
    """Return pairs with a cross-reference that is not one-to-one, where the preferred name of `low` is a name of `high`."""
    loose = evidence.edges.filter(~pl.col("one_to_one") & prefix_of("low").is_in(list(rules))).select("low", "high")
    finer, coarser = (_says_so(loose, evidence, *ends) for ends in (("low", "high"), ("high", "low")))
    both = coarser.with_columns(votes=pl.lit(_BOTH))
    pairs = finer.join(both, on=["low", "high"], how="left").with_columns(pl.col("votes").fill_null(_ONE))
    return _choose(pairs).select("low", "high")


def _allowed(rules: Mapping[str, NameRule]) -> pl.Expr:
    """Tell whether the rule of a pair's vocabulary is met; a vocabulary without a rule is not joined by name."""
    return pl.any_horizontal(
        pl.lit(value=False), *((prefix_of("low") == prefix) & _SAID_BY[rule] for prefix, rule in rules.items())
    )


def _preferred(evidence: Evidence, column: str) -> pl.DataFrame:
    return evidence.names.filter("is_preferred").select("name", pl.col("concept").alias(column)).unique()


def _says_so(pairs: pl.DataFrame, evidence: Evidence, one: str, other: str) -> pl.DataFrame:
    """Return the pairs in which the preferred name of one end is a name of the other."""
    said = pairs.join(_preferred(evidence, one), on=one)
    names = evidence.names.select("name", pl.col("concept").alias(other))
    return said.join(names, on=[other, "name"], how="semi").select("low", "high").unique()


def _of_one_group(pairs: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    low, high = (groups.select(pl.col("concept").alias(end), "group") for end in ("low", "high"))
    same = pairs.join(low, on="low").join(high, on=["high", "group"], how="semi")
    return same.drop("group").unique()


def _choose(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs without a rival, the more certain ones first; each leaves fewer rivals to the others."""
    found_pairs = []
    for votes in (_BOTH, _ONE):
        taken = unrivalled(pairs.filter(pl.col("votes") >= votes)).sort("low", "high")
        found_pairs.append(taken)
        pairs = _without_ends(pairs, taken)
    return pl.concat(found_pairs)


def _without_ends(pairs: pl.DataFrame, taken: pl.DataFrame) -> pl.DataFrame:
    """Drop the pairs of a concept that is taken already by one of the same vocabulary."""
    for end, other in (("low", "high"), ("high", "low")):
        busy = taken.select(end, prefix_of(other).alias("vocabulary"))
        pairs = pairs.with_columns(prefix_of(other).alias("vocabulary")).join(busy, on=[end, "vocabulary"], how="anti")
        pairs = pairs.drop("vocabulary")
    return pairs
