"""`onym kb export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import progress
from onym.cli.options import ID_STYLE
from onym.types import IdStyle


def command(
    folder: Annotated[Path, typer.Argument(help="A knowledge base.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write, or - for stdout.")],
    format: Annotated[str, typer.Option(help="jsonl, biosyn, genbioel or tsv.")] = "jsonl",  # noqa: A002
    id_style: Annotated[IdStyle, ID_STYLE] = "curie",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a knowledge base in another format.

    Example: onym kb export hpo-kb --format biosyn -o hpo.txt
    """
    from onym.store.output import require_file

    require_file(output, force=force, may_stream=True)
    from onym.kb import KnowledgeBase
    from onym.kb.export import export_kb
    from onym.store.output import whole_file

    kb = KnowledgeBase.open(folder)
    with progress("writing", total=len(kb)) as bar, whole_file(output, force=force) as file:
        export_kb(kb, file, format, id_style, lambda done: bar.update(bar.task_ids[0], completed=done))  # type: ignore[arg-type]
