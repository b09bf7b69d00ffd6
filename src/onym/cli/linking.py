"""What the commands that link share: the choice of a linker, and of the concepts that may be answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.linkers.base import ConceptMask
    from onym.linkers.named import LinkerOptions

LINKER = typer.Option(help="exact, tfidf for likeness of character 3-grams, or generative with --model.")
MODEL = typer.Option(help="For generative: the folder of the model, or its name on the hub with --download.")
TOKENIZER = typer.Option(help="For generative: a folder with the tokenizer, where the model has none.")
TEMPLATE = typer.Option(help="For generative: genbioel, or genre for no prompt.")
SEARCH = typer.Option(help="For generative: beam, or exact for the proved best.")
RANKING = typer.Option(help="For generative: mean or sum of a name's log-probabilities.")
WIDTH = typer.Option(min=1, max=100, help="For generative: the width of the beam, and the most names of a mention.")
WINDOW = typer.Option(min=8, help="For generative: how many tokens of a mention and its context are read.")
DOWNLOAD = typer.Option("--download", help="For generative: fetch a model that is named from the hub.")
KB = typer.Option("--kb", help="The knowledge base.")
TYPES = typer.Option(help="Only concepts of these semantic types, separated by commas.")
CONCEPTS = typer.Option(help="Only the concepts whose ids stand in this file, one a line.")
TOP_K = typer.Option(min=1, max=1000, help="How many candidates to give.")


def options_of(
    model: str, tokenizer: str, template: str, search: str, ranking: str, width: int, window: int, *, download: bool
) -> LinkerOptions:
    """Return what a linker with a model is told, checked."""
    from onym.errors import ConfigError
    from onym.linkers.named import LinkerOptions

    for value, known in ((search, ("beam", "exact")), (ranking, ("mean", "sum"))):
        if value not in known:
            raise ConfigError("config-invalid", f"{value!r} is not one of {', '.join(known)}", fix=f"name {' or '.join(known)}")
    return LinkerOptions(model, tokenizer, template, search, ranking, width, window, download)  # type: ignore[arg-type]


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
