"""`onym pipeline build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, write_json, write_lines
from onym.cli.linking import ASSERTION, CONCEPTS, KB, LINKER, PREFER, RESTRICT, TYPES
from onym.cli.options import DOWNLOAD


def command(
    context: typer.Context,
    kb: Annotated[Path, KB],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the pipeline; it may contain the KB and models.")],
    detector: Annotated[
        str,
        typer.Option(
            help="dictionary (finds names of the KB), model (a trained detector), none (mentions are annotated), or a plug-in."
        ),
    ] = "dictionary",
    linker: Annotated[str, LINKER] = "exact",
    types: Annotated[str, TYPES] = "",
    concepts: Annotated[Path | None, CONCEPTS] = None,
    restrict: Annotated[bool, RESTRICT] = False,
    prefer: Annotated[str, PREFER] = "",
    threshold: Annotated[float | None, typer.Option(help="Minimum score; below it a mention is left unlinked (NIL).")] = None,
    assertion: Annotated[bool, ASSERTION] = False,
    download: Annotated[bool, DOWNLOAD] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing pipeline.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build a pipeline: a small file that names a detector, a linker, a knowledge base and models, by path and digest.

    Example: onym pipeline build --kb mesh --detector dictionary --linker exact -o mesh-pipeline
    """
    from onym.cli.linking import ids_in, listed
    from onym.cli.options import DETECTOR_PREFIX, own_options
    from onym.detect import detector_config
    from onym.errors import ConfigError
    from onym.linkers import linker_config
    from onym.parts import OpenContext
    from onym.pipeline.config import FILE
    from onym.pipeline.folder import build_pipeline
    from onym.store.output import require_file

    require_file(output / FILE, force=force)
    of_detector = own_options(context.obj, DETECTOR_PREFIX)
    if detector == "none" and of_detector:
        raise ConfigError("config-invalid", "there is no detector that options could be for", fix="name a --detector")
    with progress("opening what the pipeline needs") as bar:
        pipeline = build_pipeline(
            kb,
            output,
            linker=linker_config(linker, **own_options(context.obj)),
            detector=None if detector == "none" else detector_config(detector, **of_detector),
            types=listed(types),
            concepts=tuple(ids_in(concepts)) if concepts else (),
            restrict=restrict,
            prefer=listed(prefer),
            threshold=threshold,
            assertion=assertion,
            force=force,
            context=OpenContext(download, shown_on(bar)),
        )
    if json:
        write_json({"folder": str(output), **pipeline.config})
    else:
        write_lines([("pipeline", str(output / FILE)), ("detector", detector), ("linker", linker), ("kb", pipeline.kb.digest)])
