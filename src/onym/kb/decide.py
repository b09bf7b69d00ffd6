"""What the build decides once everything is gathered: which ids are one concept, which stay out, and their semantic groups."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from onym.kb.gather import Gathered
from onym.kb.groups.assign import assign_groups
from onym.kb.identity import Identity, identify
from onym.kb.recipe import JoinConfig, Recipe
from onym.types import NameKind

_DEFAULT = JoinConfig()


@dataclass(frozen=True)
class Decisions:
    """The decisions that the second half of the build carries out."""

    identity: Identity
    groups: pl.DataFrame | None  # concept, group; None unless the recipe asks for groups
    left_out: pl.DataFrame  # concept: those of lending sources that joined nothing
    has_rules: bool  # whether it is stored by which rule concepts were joined


def decide(found: Gathered, recipe: Recipe, successors: pl.DataFrame, xrefs: pl.DataFrame | None = None) -> Decisions:
    """Decide by the recipe. `xrefs` stand in for those of the sources, where some are held out."""
    xrefs = found.xrefs.frame() if xrefs is None else xrefs
    active = found.ids.column().unique(maintain_order=True)
    names = _names(found) if recipe.groups or recipe.joins.by_name else None
    groups = None if names is None else _groups(found, active, xrefs, names)
    evidence = {} if names is None or groups is None else {"names": names, "groups": groups}
    identity = identify(
        active,
        xrefs,
        successors,
        found.alternatives.frame(),
        merge=recipe.merge,
        counts=found.decided,
        joins=recipe.joins,
        **evidence,
    )
    left_out = _left_out(found, identity)
    found.dropped["concepts of a lending source that joined nothing"] += left_out.height
    return Decisions(identity, groups if recipe.groups else None, left_out, recipe.joins != _DEFAULT)


def _names(found: Gathered) -> pl.DataFrame:
    names = found.names.frame().select("id", "name", is_preferred=pl.col("kind") == int(NameKind.PREFERRED))
    return names.select(found.ids.column().gather(names["id"]).alias("concept"), "name", "is_preferred")


def _groups(found: Gathered, active: pl.Series, xrefs: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    return assign_groups(
        active.to_frame("concept"),
        stated=found.groups.frame(),
        types=found.types.frame(),
        xrefs=xrefs,
        broader=found.broader.frame(),
        names=names.select("concept", "name"),
    )


def _left_out(found: Gathered, identity: Identity) -> pl.DataFrame:
    """Return the concepts that only lending sources have, and that no other one was joined with."""
    lent = found.lent.frame().group_by("concept").agg(pl.col("is_lent").all()).filter("is_lent").select("concept")
    for end in ("concept", "final"):
        lent = lent.join(identity.joins, left_on="concept", right_on=end, how="anti")
    return lent.sort("concept")
