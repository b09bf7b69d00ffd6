"""`onym pipeline build`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.linking import CONCEPTS, KB, LINKER, TYPES, takes_options

if TYPE_CHECKING:
    from onym.linkers.named import LinkerOptions


@takes_options
def command(
    kb: Annotated[Path, KB],
    output: Annotated[Path, typer.Option("--output", "-o", help="The pipeline's folder; it may hold other things.")],
    detector: Annotated[
        str,
        typer.Option(help="dictionary: the knowledge base's names; model: a trained one; none: mentions have to be given."),
    ] = "dictionary",
    detector_model: Annotated[str, typer.Option(help="For the detector model: the folder that it was trained into.")] = "",
    linker: Annotated[str, LINKER] = "exact",
    types: Annotated[str, TYPES] = "",
    concepts: Annotated[Path | None, CONCEPTS] = None,
    threshold: Annotated[float | None, typer.Option(help="Answers whose score is below it are none.")] = None,
    nested: Annotated[bool, typer.Option("--nested", help="Mentions may lie inside each other.")] = False,
    *,
    options: LinkerOptions,
    force: Annotated[bool, typer.Option("--force", help="Write over a pipeline that exists.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Make a pipeline: a small file that names a detector, a linker, a knowledge base and models, by path and digest.

    Example: onym pipeline build --kb mesh --detector dictionary --linker exact -o mesh-pipeline
    """
    from onym.cli.linking import ids_in, listed
    from onym.pipeline.folder import FILE, Choice, build_pipeline

    ids = tuple(ids_in(concepts)) if concepts else ()
    choice = Choice(detector, linker, options, listed(types), ids, threshold, nested, detector_model)
    with progress("opening what the pipeline needs"):
        pipeline = build_pipeline(kb, output, choice, force=force)
    if json:
        write_json({"folder": str(output), **pipeline.config})
    else:
        write_lines([("pipeline", str(output / FILE)), ("detector", detector), ("linker", linker), ("kb", pipeline.kb.digest)])
