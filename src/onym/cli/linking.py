"""What the commands that link share: the choice of a linker, and of the concepts that may be answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.linkers.base import ConceptMask

LINKER = typer.Option(help="exact, or tfidf for likeness of character 3-grams.")
KB = typer.Option("--kb", help="The knowledge base.")
TYPES = typer.Option(help="Only concepts of these semantic types, separated by commas.")
CONCEPTS = typer.Option(help="Only the concepts whose ids stand in this file, one a line.")
TOP_K = typer.Option(min=1, max=1000, help="How many candidates to give.")


def allowed(kb: KnowledgeBase, types: str, concepts: Path | None) -> ConceptMask | None:
    """Return the concepts that may be answers; None is all of them."""
    from onym.linkers.base import concepts_of_types, concepts_with_ids
    from onym.store.lines import iter_blocks
    from onym.store.source import InputFile

    masks = []
    if types:
        masks.append(concepts_of_types(kb, [name.strip() for name in types.split(",") if name.strip()]))
    if concepts:
        lines = (line for block in iter_blocks(InputFile.from_path(concepts)) for line in block.data.decode().splitlines())
        masks.append(concepts_with_ids(kb, (line.strip() for line in lines if line.strip())))
    return None if not masks else masks[0] if len(masks) == 1 else masks[0] & masks[1]
