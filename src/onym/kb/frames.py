"""A knowledge base as tables, for work on all of it at once: search, export, comparison. Strings are not copied.

A table is made of all bytes of a column, so that they are hashed first, once for as long as the knowledge base is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from onym.kb.identity import AliasKind
from onym.kb.joins.rule import JoinRule
from onym.kb.layout import NO_CONCEPT
from onym.types import NameKind

if TYPE_CHECKING:
    from onym.kb.knowledge_base import KnowledgeBase

KIND_LABELS = [kind.label for kind in NameKind]


def concept_frame(kb: KnowledgeBase) -> pl.DataFrame:
    """Return the columns `id` and `name`, the preferred form, in the order of ids."""
    kb.require_intact()
    forms = pl.Series(kb.term_forms.to_arrow()).gather(kb.concept_terms[:-1])
    return pl.DataFrame({"id": pl.Series(kb.concept_ids.to_arrow()), "name": forms})


def term_frame(kb: KnowledgeBase, start: int = 0, end: int | None = None) -> pl.DataFrame:
    """Return the terms of the concepts from `start` to `end`: id, name, form, kind, language, sources."""
    kb.require_intact()
    end = len(kb) if end is None else min(end, len(kb))
    first, last = int(kb.concept_terms[start]), int(kb.concept_terms[end])
    bounds = kb.concept_terms[start : end + 1].astype(np.int64)
    rows = np.repeat(np.arange(start, end), bounds[1:] - bounds[:-1])
    return pl.DataFrame(
        {
            "id": pl.Series(kb.concept_ids.to_arrow()).gather(rows),
            "name": pl.Series(kb.names.to_arrow()).gather(kb.term_names[first:last]),
            "form": pl.Series(kb.term_forms.to_arrow()).slice(first, last - first),
            "kind": pl.Series(KIND_LABELS).gather(kb.term_kinds[first:last]),
            "language": pl.Series(kb.languages.to_arrow()).gather(kb.term_languages[first:last]),
        }
    )


def alias_frame(kb: KnowledgeBase) -> pl.DataFrame:
    """Return the columns `alias`, `concept` (null where it has none) and `kind` (AliasKind)."""
    kb.require_intact()
    known = kb.alias_concepts != NO_CONCEPT
    concepts = pl.Series(kb.concept_ids.to_arrow()).gather(np.where(known, kb.alias_concepts, 0))
    concepts = pl.select(pl.when(pl.Series(known)).then(concepts)).to_series()
    return pl.DataFrame({"alias": pl.Series(kb.aliases.to_arrow()), "concept": concepts, "kind": np.asarray(kb.alias_kinds)})


def join_frame(kb: KnowledgeBase) -> pl.DataFrame:
    """Return the concepts that were joined into another one: `alias`, `concept`, and `rule`, the label of a JoinRule."""
    one_to_one = np.full(len(kb.aliases), int(JoinRule.ONE_TO_ONE), dtype=np.uint8)
    rules = pl.Series(one_to_one if kb.alias_rules is None else np.asarray(kb.alias_rules))
    labels = {int(rule): rule.label for rule in JoinRule}
    rows = alias_frame(kb).with_columns(rule=rules.replace_strict(labels, default=None, return_dtype=pl.String))
    return rows.filter(pl.col("kind") == int(AliasKind.JOINED)).select("alias", "concept", "rule")


def type_frame(kb: KnowledgeBase) -> pl.DataFrame:
    """Return both levels of semantic types, with how many concepts have each: `level`, `name`, `concepts`."""
    kb.require_intact()
    levels = (("group", kb.groups, kb.concept_groups), ("type", kb.types, kb.concept_types))
    counts = [(level, labels, np.bincount(members.values, minlength=len(labels))) for level, labels, members in levels]
    rows = [(level, labels[row], int(count)) for level, labels, column in counts for row, count in enumerate(column)]
    return pl.DataFrame(rows, schema={"level": pl.String, "name": pl.String, "concepts": pl.Int64}, orient="row")
