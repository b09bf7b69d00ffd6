"""`onym link`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, stderr, write_json, write_lines
from onym.cli.linking import CONCEPTS, KB, LINKER, TOP_K, TYPES, takes_options

if TYPE_CHECKING:
    from onym.linkers.named import LinkerOptions


@takes_options
def command(
    source: Annotated[Path, typer.Argument(help="A corpus with mentions: a file, a folder or an archive.")],
    kb: Annotated[Path, KB],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file or folder to write.")],
    linker: Annotated[str, LINKER] = "exact",
    format: Annotated[  # noqa: A002
        str, typer.Option(help="predictions: every candidate with its score. Or a corpus format: the best concept alone.")
    ] = "predictions",
    from_: Annotated[str, typer.Option("--from", help="The format to read, where it is not recognised.")] = "",
    types: Annotated[str, TYPES] = "",
    concepts: Annotated[Path | None, CONCEPTS] = None,
    top_k: Annotated[int, TOP_K] = 10,
    *,
    options: LinkerOptions,
    force: Annotated[bool, typer.Option("--force", help="Write over what exists.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Link the mentions of a corpus to concepts. Exit status 5 if documents or mentions of it could not be read.

    Example: onym link CDR_TestSet.PubTator.txt --kb mesh --linker tfidf -o links.jsonl
    """
    from onym.cli.corpus._items import FAILED, counted
    from onym.cli.linking import allowed
    from onym.corpora.corpus import read_corpus, require_writable
    from onym.kb import KnowledgeBase
    from onym.linkers.named import linker_named
    from onym.linkers.output import PREDICTIONS, write_links

    if format != PREDICTIONS:
        require_writable(format)
    opened = KnowledgeBase.open(kb)
    only = allowed(opened, types, concepts)
    with progress("linking") as bar:
        named = linker_named(linker, opened, options, progress=shown_on(bar))
        shown_on(bar)("linking", 0)
        items = counted(read_corpus(source, from_), bar)
        counts = write_links(items, named, output, format, top_k=top_k, only=only, force=force)
    if json:
        write_json({**counts.as_dict(), "output": str(output)})
    else:
        write_lines([(what.replace("_", " "), f"{number:,}") for what, number in counts.as_dict().items()])
    for facet, documents in counts.lost.items():
        stderr().print(f"lost: {facet}, in {documents:,} documents", markup=False, highlight=False)
    if counts.left_out:
        raise typer.Exit(FAILED)
