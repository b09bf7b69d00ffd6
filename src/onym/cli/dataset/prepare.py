"""`onym benchmark prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    name: Annotated[str, typer.Argument(help="A benchmark, as onym benchmark list has it.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the prepared benchmark.")],
    data: Annotated[
        Path | None, typer.Option(envvar="ONYM_DATA", show_envvar=False, help="Folder of the files; by default $ONYM_DATA.")
    ] = None,
    kb: Annotated[Path | None, typer.Option(help="A knowledge base to compare with, in place of the benchmark's own.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a benchmark that is there.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Prepare a benchmark; tell what it holds, what was dropped and why, what can be reached, and what leaks.

    Example: onym benchmark prepare bc5cdr -o cdr --data corpora --kb open-kb
    """
    from onym.datasets import prepare
    from onym.datasets.report import rows_of
    from onym.errors import ConfigError
    from onym.kb import KnowledgeBase

    if data is None:
        fix = "name it with --data, or set ONYM_DATA"
        raise ConfigError("config-invalid", "no folder with the files of the corpus was named", fix=fix)
    with progress("preparing"):
        prepared = prepare(name, data, output, kb=KnowledgeBase.open(kb) if kb else None, force=force)
    if json:
        inputs = [entry.model_dump() for entry in prepared.manifest.inputs]
        write_json({"folder": str(output), "digest": prepared.digest, "inputs": inputs, **prepared.report})
        return
    inputs_rows = [("input", entry.name, f"sha256 {entry.sha256}") for entry in prepared.manifest.inputs[:20]]
    write_lines([("digest", prepared.digest), *inputs_rows, *rows_of(prepared.report)])
