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
        Path | None, typer.Option("-o", "--output", help="Folder of the trie; by default it is stored with the KB.")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build the trie over all names of a knowledge base. Linkers find a trie that is stored with the knowledge base.

    Example: onym trie build hpo-kb --tokenizer bart-base
    """
    from onym.store.output import require_artefact

    if output:
        require_artefact(output)
    from onym.kb import KnowledgeBase
    from onym.models.template import template_named
    from onym.models.tokens import Tokenizer
    from onym.trie.artefact import build_trie, open_derived_trie_artefact, open_trie_artefact

    of = KnowledgeBase.open(kb), Tokenizer.open(tokenizer), template_named(template)
    with progress("tokenising names", total=len(of[0].names)) as bar:
        if output:
            build_trie(*of, output, progress=shown_on(bar))
            artefact = open_trie_artefact(output).artefact
        else:
            artefact = open_derived_trie_artefact(*of, progress=shown_on(bar)).artefact
    folder, counts = str(artefact.location), artefact.manifest.counts
    if json:
        write_json({"folder": folder, "digest": artefact.digest, "counts": counts})
    else:
        write_lines([("folder", folder)] + [(name, f"{count:,}") for name, count in counts.items()])
