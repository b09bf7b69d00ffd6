"""`onym show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import progress, write_lines


def command(
    file: Annotated[Path, typer.Argument(help="Documents that onym link wrote, as jsonl or parquet; or any annotated corpus.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")],
    kb: Annotated[Path | None, typer.Option("--kb", help="Knowledge base, for the preferred names of concepts.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing output.")] = False,
) -> None:
    """Write an HTML page with the mentions of documents highlighted; hover over a mention to see its concept.

    Example: onym show linked.jsonl --kb mesh -o linked.html
    """
    from onym.kb import KnowledgeBase
    from onym.outputs.html import read_shown, write_page
    from onym.store.output import require_file, whole_file

    require_file(output, force=force)
    with progress("writing"):
        known = KnowledgeBase.open(kb) if kb else None
        with whole_file(output, force=force) as page:
            count = write_page(read_shown(file, known), file.name, page)
    write_lines([("documents", f"{count:,}"), ("page", str(output))])
