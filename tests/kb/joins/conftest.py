"""Helpers that make small join evidence."""

from __future__ import annotations

import polars as pl

from onym.kb.joins import JoinEvidence

Names = dict[str, list[str]]


def frame(rows: list[tuple[str, ...]], *columns: str) -> pl.DataFrame:
    """Return a frame of strings."""
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def evidence(
    names: Names,
    edges: list[tuple[str, str, bool]] | None = None,
    shared: list[tuple[str, str]] | None = None,
    groups: dict[str, str] | None = None,
) -> JoinEvidence:
    """Return the evidence of concepts with their names, the preferred one first; all are diseases unless `groups` is given."""
    terms = [(concept, name, i == 0) for concept, members in names.items() for i, name in enumerate(members)]
    prefixes = list(dict.fromkeys(concept.partition(":")[0] for concept in names))
    return JoinEvidence(
        edges=pl.DataFrame(edges or [], schema={"low": pl.String, "high": pl.String, "one_to_one": pl.Boolean}, orient="row"),
        shared=frame(list(shared or []), "concept", "xref"),
        names=pl.DataFrame(terms, schema={"concept": pl.String, "name": pl.String, "is_preferred": pl.Boolean}, orient="row"),
        groups=frame([(concept, (groups or {}).get(concept, "Disease")) for concept in names], "concept", "group"),
        ranks=pl.DataFrame({"prefix": prefixes}).with_row_index("rank"),
    )
