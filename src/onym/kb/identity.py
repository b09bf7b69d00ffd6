"""Decides which ids denote the same concept: retired ids, joins of vocabularies, alternative ids.

Two concepts of one source are never joined. The recipe selects the join rules (`joins`). By default, a cross-reference joins
two concepts if it is one-to-one between their sources; otherwise the names are added to each target. An id that occurs only as
a cross-reference becomes an alternative id, and so does an id that a source states as one; it may belong to several concepts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.joins import JoinEvidence, JoinRule, Union, join_all, xref_edges
from onym.kb.recipe import JoinConfig

_JOINED = {
    JoinRule.ONE_TO_ONE: "a one-to-one cross-reference",
    JoinRule.MANY_TO_ONE: "a many-to-one cross-reference and their name",
    JoinRule.SHARED_ID: "a shared id",
    JoinRule.NAME: "their name",
}
_ONE_TO_ONE = JoinConfig()
_NO_NAMES = pl.DataFrame(schema={"concept": pl.String, "name": pl.String, "is_preferred": pl.Boolean})
_NO_GROUPS = pl.DataFrame(schema={"concept": pl.String, "group": pl.String})
_DOUBLINGS = 20  # enough for chains of a million successors; longer ones are treated as cycles


class AliasKind(IntEnum):
    """Why an id is an alias of a concept."""

    JOINED = 0  # a concept of another source, joined by one of the rules
    ALTERNATIVE = 1  # occurs only as a cross-reference, or is stated as an alternative id
    RETIRED = 2  # no longer current; an alias of its successor, if it has one


@dataclass(frozen=True)
class Identity:
    """The concept that each id resolves to."""

    final: pl.DataFrame  # concept -> final: only ids that resolve to another concept
    added: pl.DataFrame  # concept -> target: concepts whose names are also added to another concept
    aliases: pl.DataFrame  # alias, concept (null: retired without a successor), kind
    joins: pl.DataFrame  # concept, final, rule: the concepts that were joined into another one
    xrefs: pl.DataFrame  # concept, xref: the cross-references of the sources
    misnamed: pl.DataFrame  # concept, other, name, bearer: refused joins, see `find_misnamed`


def identify(
    active: pl.Series,
    xrefs: pl.DataFrame,
    successors: pl.DataFrame,
    alternatives: pl.DataFrame,
    *,
    merge: bool,
    counts: Counter[str],
    joins: JoinConfig = _ONE_TO_ONE,
    names: pl.DataFrame = _NO_NAMES,
    groups: pl.DataFrame = _NO_GROUPS,
) -> Identity:
    """Decide which concept each id resolves to. `active` are the ids that have names, by precedence of their sources."""
    here = pl.DataFrame({"concept": active})
    heirs = follow_chains(successors.drop_nulls("successor"), counts)
    folded = heirs.join(here, on="concept", how="semi").join(here.rename({"concept": "successor"}), on="successor", how="semi")
    counts["retired concepts folded into their successor"] += folded.height
    standing = here.join(folded, on="concept", how="anti")
    resolved = _resolve_edges(xrefs, heirs, standing)
    edges = xref_edges(resolved, standing, _ranks(active), merge=merge)
    evidence = JoinEvidence(edges, resolved, _rename_concepts(names, folded), _rename_concepts(groups, folded), _ranks(active))
    union = join_all(evidence, joins) if merge else Union()
    _count(union, counts)
    joined = union.frame()
    final = _compose(folded.rename({"successor": "final"}), joined.drop("rule"))
    primary = standing.join(joined, on="concept", how="left").select("concept", final=pl.coalesce("final", "concept"))
    added = _find_extra_targets(edges.filter(joins.many_to_one == "copy"), primary, counts)
    aliases = pl.concat(
        [
            _own(joined),
            _find_retired(successors, heirs, standing, primary, counts),
            _foreign(resolved, standing, primary),
            _alternative_ids(alternatives, heirs, primary),
        ]
    )
    aliases = aliases.unique(["alias", "concept"], keep="first", maintain_order=True).sort("alias", "concept", nulls_last=True)
    return Identity(
        final=final,
        added=added,
        aliases=aliases,
        joins=joined,
        xrefs=xrefs.unique(maintain_order=True),
        misnamed=union.misnamed.select("concept", "other", "name", "bearer"),
    )


def follow_chains(successors: pl.DataFrame, counts: Counter[str]) -> pl.DataFrame:
    """Follow each chain of successors to its end, by pointer doubling; cycles are dropped and counted."""
    links = successors.filter(pl.col("concept") != pl.col("successor")).unique("concept", keep="first", maintain_order=True)
    for _ in range(_DOUBLINGS):
        onward = links.select(successor="concept", next="successor")
        if links.join(onward, on="successor", how="semi").is_empty():
            break
        links = links.join(onward, on="successor", how="left", maintain_order="left").select(
            "concept", successor=pl.coalesce("next", "successor")
        )
    ended = links.join(links.select(successor="concept"), on="successor", how="anti", maintain_order="left")
    counts["replacements in a cycle"] += links.height - ended.height
    return ended


def _resolve_edges(xrefs: pl.DataFrame, heirs: pl.DataFrame, standing: pl.DataFrame) -> pl.DataFrame:
    """Return the cross-references with retired ids on either end replaced by their successors."""
    rows = xrefs.unique(maintain_order=True)
    gone = heirs.join(standing, on="concept", how="anti")
    for end in ("concept", "xref"):
        step = gone.select(pl.col("concept").alias(end), pl.col("successor").alias("heir"))
        rows = (
            rows.join(step, on=end, how="left", maintain_order="left")
            .with_columns(pl.coalesce("heir", end).alias(end))
            .drop("heir")
        )
    return rows.join(standing, on="concept", how="semi", maintain_order="left").unique(maintain_order=True)


def _ranks(active: pl.Series) -> pl.DataFrame:
    """Return the vocabularies by precedence: prefix, rank."""
    return active.to_frame("concept").select(prefix=prefix_of("concept")).unique(maintain_order=True).with_row_index("rank")


def _count(union: Union, counts: Counter[str]) -> None:
    counts["joins refused: two concepts of one source"] += union.refused
    counts["joins refused: the name is that of another concept"] += union.misnamed.height
    counts["joins undone by the recipe"] += union.undone
    for rule, reason in _JOINED.items():
        counts[f"concepts joined by {reason}"] += union.counts[rule]


def _rename_concepts(rows: pl.DataFrame, folded: pl.DataFrame) -> pl.DataFrame:
    """Replace the ids of retired concepts by those of their successors, which take over their names."""
    led = rows.join(folded, on="concept", how="left", maintain_order="left")
    return led.with_columns(concept=pl.coalesce("successor", "concept")).drop("successor")


def _compose(folded: pl.DataFrame, joined: pl.DataFrame) -> pl.DataFrame:
    onward = joined.select(final="concept", next="final")
    through = folded.join(onward, on="final", how="left").select("concept", final=pl.coalesce("next", "final"))
    return pl.concat([through, joined]).sort("concept")


def _find_extra_targets(edges: pl.DataFrame, primary: pl.DataFrame, counts: Counter[str]) -> pl.DataFrame:
    """Return the concepts whose cross-references are not one-to-one, with the targets that get their names too."""
    loose = edges.filter(~pl.col("one_to_one")).select(concept="low", target="high")
    loose = loose.join(primary.rename({"concept": "target", "final": "to"}), on="target").select("concept", target="to")
    own = primary.rename({"final": "own"})
    added = loose.join(own, on="concept").filter(pl.col("own") != pl.col("target")).select("concept", "target").unique()
    counts["concepts whose names were added to each target"] += added["concept"].n_unique()
    return added.sort("concept", "target")


def _alias(alias: str, concept: str, kind: AliasKind) -> list[pl.Expr]:
    return [pl.col(alias).alias("alias"), pl.col(concept).alias("concept"), pl.lit(int(kind), dtype=pl.UInt8).alias("kind")]


def _own(joined: pl.DataFrame) -> pl.DataFrame:
    return joined.select(_alias("concept", "final", AliasKind.JOINED))


def _foreign(xrefs: pl.DataFrame, standing: pl.DataFrame, primary: pl.DataFrame) -> pl.DataFrame:
    """Return aliases for the ids that occur only as cross-references."""
    unknown = xrefs.join(standing.rename({"concept": "xref"}), on="xref", how="anti", maintain_order="left")
    return unknown.join(primary, on="concept", maintain_order="left").select(_alias("xref", "final", AliasKind.ALTERNATIVE))


def _alternative_ids(alternatives: pl.DataFrame, heirs: pl.DataFrame, primary: pl.DataFrame) -> pl.DataFrame:
    """Return aliases for the alternative ids that the sources state; some may also be ids of other concepts."""
    led = pl.concat([primary, heirs.join(primary.rename({"concept": "successor"}), on="successor").select("concept", "final")])
    rows = alternatives.join(led.unique("concept", keep="first", maintain_order=True), on="concept", maintain_order="left")
    return rows.filter(pl.col("alternative") != pl.col("final")).select(_alias("alternative", "final", AliasKind.ALTERNATIVE))


def _find_retired(
    successors: pl.DataFrame, heirs: pl.DataFrame, standing: pl.DataFrame, primary: pl.DataFrame, counts: Counter[str]
) -> pl.DataFrame:
    """Return aliases for the retired ids, with a null concept if there is no current successor."""
    gone = successors.select("concept").unique(maintain_order=True).join(heirs, on="concept", how="left", maintain_order="left")
    gone = gone.join(primary.rename({"concept": "successor"}), on="successor", how="left", maintain_order="left")
    led = gone.filter(pl.col("final").is_not_null())
    lost = gone.filter(pl.col("final").is_null()).join(standing, on="concept", how="anti", maintain_order="left")
    counts["retired ids with a successor"] += led.height
    counts["retired ids without a successor"] += lost.height
    return pl.concat([led, lost]).select(_alias("concept", "final", AliasKind.RETIRED))
