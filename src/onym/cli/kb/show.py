"""`onym kb show`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(
    folder: Annotated[Path, typer.Argument(help="A knowledge base.")],
    concept_id: Annotated[str, typer.Argument(help="An id, in any case, with or without its prefix; a retired one too.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show a concept: its ids, names, types, definitions and cross-references.

    Example: onym kb show hpo-kb HP:0001658
    """
    from onym.kb import KnowledgeBase

    concept = KnowledgeBase.open(folder)[concept_id]
    if json:
        terms = [{**asdict(term), "kind": term.kind.label} for term in concept.terms]
        write_json({**asdict(concept), "terms": terms})
        return
    write_lines(
        [("id", concept.id)]
        + [("alternative id", other) for other in concept.alternative_ids]
        + [(term.kind.label, f"{term.form}  [{', '.join(term.sources)}]") for term in concept.terms]
        + [("group", name) for name in concept.groups]
        + [("type", name) for name in concept.types]
        + [("definition", text) for text in concept.definitions]
        + [("xref", xref) for xref in concept.xrefs]
    )
