"""`onym trie build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, write_json, write_lines


def command(
    kb: Annotated[Path, typer.Argument(help="A knowledge base.")],
    tokenizer: Annotated[Path, typer.Option(help="Folder of a model, or of its tokenizer.json alone.")],
    template: Annotated[str, typer.Option(help="How names are written for the model: genbioel or genre.")] = "genbioel",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the trie; else it is kept beside KB.")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build the prefix tree over all names of a knowledge base. Linkers find one that is kept beside it by themselves.

    Example: onym trie build hpo-kb --tokenizer bart-base
    """
    from onym.kb import KnowledgeBase
    from onym.text.template import template_named
    from onym.text.tokens import Tokenizer
    from onym.trie.artefact import build_trie, opened
    from onym.trie.derived import kept_beside

    of = KnowledgeBase.open(kb), Tokenizer.open(tokenizer), template_named(template)
    with progress("tokenising names", total=len(of[0].names)) as bar:
        folder = output or kept_beside(*of, progress=shown_on(bar))
        if output:
            build_trie(*of, output, progress=shown_on(bar))
    manifest = opened(folder)[2]
    if json:
        write_json({"folder": str(folder), "digest": manifest.digest()[:16], "counts": manifest.counts})
    else:
        write_lines([("folder", str(folder))] + [(name, f"{count:,}") for name, count in manifest.counts.items()])
