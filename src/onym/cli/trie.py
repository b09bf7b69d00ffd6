"""`onym trie`: build and inspect the prefix tree over the names of a knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from onym.cli.console import JSON, progress, progress_callback, write_json, write_lines
from onym.cli.inputs import resolve_kb

app = typer.Typer(help="Build and inspect the prefix tree (trie) for the generative linker.", no_args_is_help=True)


@app.command()
def build(
    kb: Annotated[Path, typer.Argument(callback=resolve_kb, help="Knowledge base.")],
    tokenizer: Annotated[Path, typer.Option(help="Folder of a model, or of a tokenizer.json.")],
    template: Annotated[str, typer.Option(help="Template that formats names for the model: genbioel or genre.")] = "genbioel",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the trie; by default it is stored with the KB.")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build the trie over all names of a knowledge base. Linkers use the trie stored with the knowledge base.

    Example: onym trie build hpo-kb --tokenizer bart-base
    """
    from onym.store.output import require_artefact

    if output:
        require_artefact(output)
    from onym.kb import KnowledgeBase
    from onym.methods.generative.template import template_named
    from onym.methods.generative.trie.artefact import build_trie, open_derived_trie_artefact, open_trie_artefact
    from onym.models.tokens import Tokenizer

    of = KnowledgeBase.open(kb), Tokenizer.open(tokenizer), template_named(template)
    with progress("tokenising names", total=len(of[0].names)) as bar:
        if output:
            build_trie(*of, output, progress=progress_callback(bar))
            artefact = open_trie_artefact(output).artefact
        else:
            artefact = open_derived_trie_artefact(*of, progress=progress_callback(bar)).artefact
    folder, counts = str(artefact.location), artefact.manifest.counts
    if json:
        write_json({"folder": folder, "digest": artefact.digest, "counts": counts})
    else:
        write_lines([("folder", folder)] + [(name, f"{count:,}") for name, count in counts.items()])


@app.command()
def info(
    folders: Annotated[list[Path], typer.Argument(help="Folders of tries, or knowledge bases, whose stored tries are listed.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show the size and depth of a trie, and which knowledge base and tokenizer it was built from.

    Example: onym trie info hpo-kb
    """
    from onym.methods.generative.trie.artefact import info
    from onym.packs.locate import locate_kb

    found = [described for folder in folders for described in info(locate_kb(folder))]
    if json:
        write_json(found)
    else:
        write_lines([row for described in found for row in _rows(described)])


def _rows(described: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the description of a trie as rows, with one row for each name length."""
    lengths = described["names_by_tokens"]
    rows = [
        (name.replace("_", " "), _format_value(value))
        for name, value in described.items()
        if isinstance(value, str | int | float)
    ]
    return rows + [("names", f"of {tokens} tokens: {count:,}") for tokens, count in lengths.items()]


def _format_value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:,}"
