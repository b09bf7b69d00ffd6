"""`onym pack build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, write_json, write_lines


def command(
    pipeline: Annotated[Path, typer.Argument(help="The folder of a pipeline, or the name of an installed one.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The pack: NAME.onymp.")],
    name: Annotated[str, typer.Option(help="Name of the pack; by default that of the file.")] = "",
    version: Annotated[str, typer.Option(help="Version of the pack, in numbers and full stops.")] = "1.0.0",
    private: Annotated[
        bool, typer.Option("--private", help="Allow UMLS, SNOMED CT, MEDIC and private corpora; the card says so.")
    ] = False,
    compress: Annotated[
        bool,
        typer.Option(
            "--compress", help="Smaller dense parts: encoders in int8, run without torch, and indexes as codes alone."
        ),
    ] = False,
    release: Annotated[list[str] | None, typer.Option(help="Release of a source, such as HPO=2026-01-08.")] = None,
    licence: Annotated[list[str] | None, typer.Option(help="Licence of a source or corpus, such as mine=CC0.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing pack.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Pack a pipeline with its knowledge base, models, indexes, card and licences into one file.

    Example: onym pack build mesh-pipeline -o mesh.onymp
    """
    from onym.cli.pack._shown import rows_of, values_of
    from onym.packs.build import build_pack, require_pack_output
    from onym.packs.licences import stated
    from onym.parts import OpenContext

    require_pack_output(output, force=force)
    with progress("packing") as bar:
        record = build_pack(
            pipeline,
            output,
            name=name,
            version=version,
            private=private,
            compress=compress,
            releases=stated(release or (), "--release"),
            licences=stated(licence or (), "--licence"),
            force=force,
            context=OpenContext(progress=shown_on(bar)),
        )
    size = output.stat().st_size
    if json:
        write_json({"file": str(output), "packed_bytes": size, **values_of(record)})
    else:
        write_lines([("pack", f"{output} ({size:,} bytes)"), *rows_of(record)])
