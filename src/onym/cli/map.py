"""`onym map`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, write_json, write_lines
from onym.cli.linking import CONCEPTS, KB, LINKER, PREFER, TOP_K, TYPES, VERIFY
from onym.cli.options import DOWNLOAD
from onym.store.verify import Verify


def command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A table with a header, .csv or .tsv.")],
    column: Annotated[str, typer.Option(help="The column that holds the terms.")],
    kb: Annotated[Path, KB],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .tsv to write, - for stdout; .sssom.tsv for SSSOM.")],
    linker: Annotated[str, LINKER] = "tfidf",
    types: Annotated[str, TYPES] = "",
    concepts: Annotated[Path | None, CONCEPTS] = None,
    prefer: Annotated[str, PREFER] = "",
    top_k: Annotated[int, TOP_K] = 5,
    download: Annotated[bool, DOWNLOAD] = False,
    verify: Annotated[Verify, VERIFY] = "once",
    force: Annotated[bool, typer.Option("--force", help="Write over what exists.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Map a column of terms to concepts, and add the best candidates to each row.

    Example: onym map diagnoses.csv --column diagnosis --kb mesh -o mapped.tsv
    """
    from onym.cli.linking import allowed, listed
    from onym.cli.options import own_options
    from onym.kb import KnowledgeBase
    from onym.linkers import linker_config, open_linker
    from onym.pipeline.mapping import map_table, require_mapping
    from onym.store.output_path import STDOUT
    from onym.store.parts import OpenContext

    require_mapping(output, force=force)
    known = KnowledgeBase.open(kb, verify=verify, prefer=listed(prefer))
    only = allowed(known, types, concepts)
    with progress("mapping") as bar:
        opening = OpenContext(download, shown_on(bar), verify)
        named = open_linker(linker_config(linker, **own_options(context.obj)), known, opening)
        shown_on(bar)("mapping", 0)
        counts = map_table(file, column, named, output, top_k=top_k, only=only, force=force, progress=shown_on(bar))
    if json:
        write_json({**counts, "output": str(output)}, to_stderr=output == STDOUT)
    else:
        write_lines([(what, f"{number:,}") for what, number in counts.items()], to_stderr=output == STDOUT)
