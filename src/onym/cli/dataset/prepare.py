"""`onym dataset prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    name: Annotated[str, typer.Argument(help="A dataset listed by onym dataset list.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the prepared dataset.")],
    data: Annotated[
        Path | None, typer.Option(envvar="ONYM_DATA", show_envvar=False, help="Folder of the files; by default $ONYM_DATA.")
    ] = None,
    kb: Annotated[
        Path | None, typer.Option(help="Compare with this knowledge base instead of the dataset's own dictionary.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing dataset.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Prepare a dataset; report its size, dropped mentions, gold ids in the KB, and train/test overlap.

    Example: onym dataset prepare bc5cdr -o cdr --data corpora --kb open-kb
    """
    from onym.datasets import prepare
    from onym.datasets.prepared import require_free
    from onym.datasets.report import rows_of
    from onym.errors import ConfigError
    from onym.kb import KnowledgeBase

    require_free(output, force=force)
    if data is None:
        fix = "give it with --data, or set ONYM_DATA"
        raise ConfigError("config-invalid", "the folder with the files of the corpus is not given", fix=fix)
    with progress("preparing"):
        dataset = prepare(name, data, output, kb=KnowledgeBase.open(kb) if kb else None, force=force)
    if json:
        inputs = [entry.model_dump() for entry in dataset.manifest.inputs]
        write_json({"folder": str(output), "digest": dataset.digest, "inputs": inputs, **dataset.report})
        return
    inputs_rows = [("input", entry.name, f"sha256 {entry.sha256}") for entry in dataset.manifest.inputs[:20]]
    write_lines([("digest", dataset.digest), *inputs_rows, *rows_of(dataset.report)])
