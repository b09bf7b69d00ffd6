"""`onym kb export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import progress


def command(
    folder: Annotated[Path, typer.Argument(help="A knowledge base.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write, or - for stdout.")],
    format: Annotated[str, typer.Option(help="jsonl, biosyn, genbioel or tsv.")] = "jsonl",  # noqa: A002
    id_style: Annotated[str, typer.Option(help="curie (mesh:D1), obo (MESH:D1) or raw (D1).")] = "curie",
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
) -> None:
    """Write a knowledge base in another format.

    Example: onym kb export hpo-kb --format biosyn -o hpo.txt
    """
    from onym.store.output_path import require_file

    require_file(output, force=force, may_stream=True)
    from onym.errors import ConfigError
    from onym.kb import KnowledgeBase
    from onym.kb.export import export_kb
    from onym.store.output import whole_file

    if id_style not in ("curie", "obo", "raw"):
        raise ConfigError("config-invalid", f"no id style {id_style!r}", fix="known are curie, obo, raw")
    kb = KnowledgeBase.open(folder)
    with progress("writing", total=len(kb)) as bar, whole_file(output, force=force) as file:
        export_kb(kb, file, format, id_style, lambda done: bar.update(bar.task_ids[0], completed=done))  # type: ignore[arg-type]
