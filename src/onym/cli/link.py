"""`onym link`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, stderr, write_json, write_lines
from onym.cli.linking import CONCEPTS, LINKER, TOP_K, TYPES, takes_options

if TYPE_CHECKING:
    from onym.linkers.named import LinkerOptions
    from onym.pipeline.output import LinkCounts


@takes_options
def command(
    sources: Annotated[list[Path], typer.Argument(help="Corpora or plain texts: files, folders, archives, or - for stdin.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file or folder to write.")],
    kb: Annotated[Path | None, typer.Option("--kb", help="The knowledge base; mentions are those that are given.")] = None,
    pipeline: Annotated[
        Path | None, typer.Option(help="A pipeline in place of --kb: mentions are found where a document has none.")
    ] = None,
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
    """Link the mentions of documents to concepts. Exit status 5 if documents or mentions could not be read.

    Example: onym link CDR_TestSet.PubTator.txt --kb mesh --linker tfidf -o links.jsonl
    """
    from onym.cli.corpus._items import FAILED, counted
    from onym.cli.linking import allowed, iter_sources
    from onym.corpora.corpus import read_sources, require_writable
    from onym.errors import ConfigError
    from onym.kb import KnowledgeBase
    from onym.linkers.named import LinkerOptions, linker_named
    from onym.pipeline.folder import load
    from onym.pipeline.output import PREDICTIONS, write_linked, write_links

    if (kb is None) == (pipeline is None):
        raise ConfigError("config-invalid", "either a knowledge base or a pipeline links", fix="name --kb or --pipeline")
    if pipeline is not None and (linker, types, concepts, top_k, options) != ("exact", "", None, 10, LinkerOptions()):
        raise ConfigError("config-invalid", "a pipeline says itself how it links", fix="build another with onym pipeline build")
    if format != PREDICTIONS:
        require_writable(format)
    with progress("linking") as bar, iter_sources(sources) as opened:
        items = counted(read_sources(opened, from_), bar)
        if pipeline is not None:
            loaded = load(pipeline)
            counts = write_linked(items, loaded.iter_linked, loaded.source(), output, format, force=force)
        elif kb is not None:
            known = KnowledgeBase.open(kb)
            only = allowed(known, types, concepts)
            named = linker_named(linker, known, options, progress=shown_on(bar))
            shown_on(bar)("linking", 0)
            counts = write_links(items, named, output, format, top_k=top_k, only=only, force=force)
    _tell(counts, output, json=json)
    if counts.left_out:
        raise typer.Exit(FAILED)


def _tell(counts: LinkCounts, output: Path, *, json: bool) -> None:
    if json:
        write_json({**counts.as_dict(), "output": str(output)})
    else:
        write_lines([(what.replace("_", " "), f"{number:,}") for what, number in counts.as_dict().items()])
    for facet, documents in counts.lost.items():
        stderr().print(f"lost: {facet}, in {documents:,} documents", markup=False, highlight=False)
