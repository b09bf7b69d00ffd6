"""`onym kb search`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(
    folder: Annotated[Path, typer.Argument(help="A knowledge base.")],
    text: Annotated[str, typer.Argument(help="A name, its beginning, or some of its words.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many concepts at most.")] = 10,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find concepts by name.

    Example: onym kb search hpo-kb "heart attack"
    """
    from onym.kb import KnowledgeBase
    from onym.kb.search import search

    hits = search(KnowledgeBase.open(folder), text, limit)
    if json:
        write_json([asdict(hit) for hit in hits])
    else:
        write_lines([(hit.concept_id, hit.preferred_name, hit.name, hit.match) for hit in hits])
