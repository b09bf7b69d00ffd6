"""`onym map`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, write_json, write_lines
from onym.cli.linking import CONCEPTS, KB, LINKER, TOP_K, TYPES, takes_options

if TYPE_CHECKING:
    from onym.linkers.named import LinkerOptions


@takes_options
def command(
    file: Annotated[Path, typer.Argument(help="A table with a header, .csv or .tsv.")],
    column: Annotated[str, typer.Option(help="The column that holds the terms.")],
    kb: Annotated[Path, KB],
    output: Annotated[Path, typer.Option("--output", "-o", help="A .tsv to write; an .sssom.tsv is written as SSSOM.")],
    linker: Annotated[str, LINKER] = "tfidf",
    types: Annotated[str, TYPES] = "",
    concepts: Annotated[Path | None, CONCEPTS] = None,
    top_k: Annotated[int, TOP_K] = 5,
    *,
    options: LinkerOptions,
    force: Annotated[bool, typer.Option("--force", help="Write over what exists.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Map a column of terms to concepts, the best candidates beside each term.

    Example: onym map diagnoses.csv --column diagnosis --kb mesh -o mapped.tsv
    """
    from onym.cli.linking import allowed
    from onym.kb import KnowledgeBase
    from onym.linkers.named import linker_named
    from onym.pipeline.mapping import map_table

    opened = KnowledgeBase.open(kb)
    only = allowed(opened, types, concepts)
    with progress("mapping") as bar:
        named = linker_named(linker, opened, options, progress=shown_on(bar))
        shown_on(bar)("mapping", 0)
        counts = map_table(
            file,
            column,
            named,
            output,
            top_k=top_k,
            only=only,
            force=force,
            tick=lambda n: bar.update(bar.task_ids[0], completed=n),
        )
    if json:
        write_json({**counts, "output": str(output)})
    else:
        write_lines([(what, f"{number:,}") for what, number in counts.items()])
