"""From types, vocabularies, broader concepts and names to the groups of every concept.

What a vocabulary says itself counts first: stated groups, semantic types, the vocabulary's own group, and the vocabularies
that a concept is cross-referenced to. A concept that has none of these takes the groups of its broader concepts (a
supplementary record of MeSH those of most of its mapped headings), and if it has no group then either, those of the concepts
of its own vocabulary that share a name with it: a record of an older release, whose successor is known.
"""

from __future__ import annotations

import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.groups.tables import VOCABULARIES, groups_of_type

_GENERATIONS = 20  # deeper than the tree of any vocabulary in which only the top is typed


def assign_groups(
    ids: pl.DataFrame,
    *,
    stated: pl.DataFrame,
    types: pl.DataFrame,
    xrefs: pl.DataFrame,
    broader: pl.DataFrame,
    names: pl.DataFrame,
) -> pl.DataFrame:
    """Return the groups of concepts, as (concept, group). `ids` has a column `concept`, `names` has (concept, name).

    >>> none = {column: pl.DataFrame(schema={"concept": pl.String, column: pl.String}) for column in ("group", "xref", "name")}
    >>> types = pl.DataFrame({"concept": ["mesh:D1"], "type": ["D03"]})
    >>> mapped = pl.DataFrame({"concept": ["mesh:C1"], "broader": ["mesh:D1"]})
    >>> ids = pl.DataFrame({"concept": ["mesh:C1", "mesh:D1"]})
    >>> assign_groups(ids, stated=none["group"], types=types, xrefs=none["xref"], broader=mapped, names=none["name"]).rows()
    [('mesh:C1', 'Chemical'), ('mesh:D1', 'Chemical')]
    """
    own = pl.concat([stated, _of_types(types), _of_vocabulary(ids, "concept"), _of_vocabulary(xrefs, "xref")])
    found = own.join(ids, on="concept", how="semi").unique()
    found = _of_broader(found, broader.join(ids, on="concept", how="semi"))
    return _of_names(found, ids, names).sort("concept", "group")


def _of_types(types: pl.DataFrame) -> pl.DataFrame:
    known = types.select("type").unique()
    groups = [groups_of_type(name) for name in known["type"]]
    table = known.with_columns(group=pl.Series(groups, dtype=pl.List(pl.String))).explode("group").drop_nulls()
    return types.join(table, on="type").select("concept", "group")


def _of_vocabulary(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    group = prefix_of(column).replace_strict(VOCABULARIES, default=None, return_dtype=pl.String)
    return rows.select("concept", group=group).drop_nulls()


def _of_broader(found: pl.DataFrame, broader: pl.DataFrame) -> pl.DataFrame:
    """Let concepts without a group take those of most of their broader concepts, from the top of a hierarchy downwards."""
    for _ in range(_GENERATIONS):
        waiting = broader.unique().join(found, on="concept", how="anti")
        above = waiting.join(found.rename({"concept": "broader"}), on="broader").group_by("concept", "group").len()
        if above.is_empty():
            break
        commonest = above.filter(pl.col("len") == pl.col("len").max().over("concept"))
        found = pl.concat([found, commonest.select("concept", "group")])
    return found


def _of_names(found: pl.DataFrame, ids: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Let concepts without a group take those of the concepts of the same vocabulary that share a name with them."""
    without = names.join(ids.join(found, on="concept", how="anti"), on="concept", how="semi")
    sharing = names.join(without, on="name", how="semi").rename({"concept": "other"})
    pairs = without.join(sharing, on="name").filter(prefix_of("concept") == prefix_of("other"))
    taken = pairs.join(found.rename({"concept": "other"}), on="other").select("concept", "group")
    return pl.concat([found, taken.unique()])
