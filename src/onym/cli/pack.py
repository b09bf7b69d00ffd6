"""`onym pack`: build, inspect, install and publish packs (a pipeline with all its files in one archive)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onym.cli.console import JSON, progress, progress_callback, write_json, write_lines

if TYPE_CHECKING:
    from onym.packs.archive import PackRecord

app = typer.Typer(
    help="Package a pipeline as one file, with its knowledge base, models, indexes, card and licences.", no_args_is_help=True
)


@app.command()
def build(
    pipeline: Annotated[Path, typer.Argument(help="Folder of a pipeline, or name of an installed one.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write, NAME.onymp.")],
    name: Annotated[str, typer.Option(help="Name of the pack; defaults to the file name.")] = "",
    version: Annotated[str, typer.Option(help="Version of the pack: numbers separated by dots.")] = "1.0.0",
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Allow sources that must not be redistributed (UMLS, SNOMED CT, MEDIC, private corpora); the card says so.",
        ),
    ] = False,
    compress: Annotated[
        bool,
        typer.Option(
            "--compress",
            help="Reduce the size of dense linkers: int8 encoders, which run without torch, and indexes without full vectors.",
        ),
    ] = False,
    release: Annotated[
        list[str] | None, typer.Option(help="Release of a source, such as HPO=2026-01-08. May be repeated.")
    ] = None,
    licence: Annotated[
        list[str] | None, typer.Option(help="Licence of a source or corpus, such as mine=CC0. May be repeated.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing pack.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write a pipeline with its knowledge base, models, indexes, card and licences to one file.

    Example: onym pack build mesh-pipeline -o mesh.onymp
    """
    from onym.packs.build import build_pack, require_pack_output
    from onym.packs.licences import parse_named_values
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
            releases=parse_named_values(release or (), "--release"),
            licences=parse_named_values(licence or (), "--licence"),
            force=force,
            context=OpenContext(progress=progress_callback(bar)),
        )
    size = output.stat().st_size
    if json:
        write_json({"file": str(output), "packed_bytes": size, **_values_of(record)})
    else:
        write_lines([("pack", f"{output} ({size:,} bytes)"), *_rows_of(record)])


@app.command()
def info(
    pack: Annotated[Path, typer.Argument(help="Pack file, NAME.onymp.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Verify a pack without unpacking it, and show its sources with releases and licences.

    Example: onym pack info mesh.onymp
    """
    from onym.packs.archive import open_pack

    record = open_pack(pack).record
    if json:
        write_json(_values_of(record))
    else:
        write_lines(_rows_of(record))


@app.command()
def install(
    pack: Annotated[Path, typer.Argument(help="Pack file, NAME.onymp.")],
    name: Annotated[str, typer.Option(help="Name to install it under; defaults to the name of the pack.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an installed pipeline of that name.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Verify a pack and unpack it into the cache directory, so that it can be loaded by name.

    Example: onym pack install mesh.onymp
    """
    from onym.packs.install import install_pack

    with progress("installing"):
        record, folder = install_pack(pack, name, force=force)
    if json:
        write_json({"installed_as": name or record.name, "folder": str(folder), **_values_of(record)})
    else:
        write_lines([("installed as", name or record.name), ("folder", str(folder)), *_rows_of(record)])


@app.command()
def wheel(
    pack: Annotated[Path, typer.Argument(help="Pack file, NAME.onymp.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write the wheel to.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing wheel.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build a wheel from a pack, for pip install. Private packs and packs with unstated licences are rejected.

    Example: onym pack wheel mesh.onymp -o dist
    """
    from onym.packs.publish import require_wheel_folder, write_wheel

    require_wheel_folder(output)
    with progress("packing"):
        wheel = write_wheel(pack, output, force=force)
    if json:
        write_json({"wheel": str(wheel), "bytes": wheel.stat().st_size})
    else:
        write_lines([("wheel", str(wheel)), ("bytes", f"{wheel.stat().st_size:,}")])


@app.command()
def hub(
    pack: Annotated[Path, typer.Argument(help="Pack file, NAME.onymp.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write: the pack, its licences and a model card.")],
    results: Annotated[Path | None, typer.Option(help="Results file (rows.json) with the figures for the card.")] = None,
    row: Annotated[
        list[str] | None, typer.Option(help="Key of a row in the results file; by default all rows. May be repeated.")
    ] = None,
    upload: Annotated[str, typer.Option(help="Upload the folder to the Hugging Face Hub as model OWNER/NAME.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing folder.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write a folder for the Hugging Face Hub: pack and model card. Private packs and unstated licences are rejected.

    Example: onym pack hub mesh.onymp -o mesh-hub
    """
    from onym.packs.publish import read_results, write_hub_folder
    from onym.store.download import upload as upload_folder
    from onym.store.output import require_folder

    require_folder(output, force=force)
    found = read_results(results, row or ()) if results else []
    with progress("writing"):
        record = write_hub_folder(pack, output, results=found, force=force)
        address = upload_folder(output, upload) if upload else ""
    values = {"folder": str(output), "name": record.name, "results": len(found), **({"address": address} if address else {})}
    if json:
        write_json(values)
    else:
        write_lines([(name, str(value)) for name, value in values.items()])


def _rows_of(record: PackRecord) -> list[tuple[str, str]]:
    """Return the record of a pack as (label, value) rows."""
    kb = record.kb
    return [
        ("name", record.name),
        ("version", record.version),
        ("digest", record.digest),
        ("private", f"yes: {', '.join(record.restricted) or 'marked so'}" if record.private else "no"),
        ("knowledge base", f"{kb.concepts:,} concepts, {kb.names:,} names ({kb.digest})"),
        *(("source", f"{each.name}, release {each.release}: {each.licence}") for each in record.sources),
        *(("trained on", f"{each.name}: {each.licence}") for each in record.corpora),
        ("files", f"{len(record.files):,}, {sum(each.bytes for each in record.files.values()):,} bytes unpacked"),
        ("built by", f"onym {record.onym}"),
    ]


def _values_of(record: PackRecord) -> dict[str, Any]:
    """Return the record of a pack for JSON output, with the number and size of files instead of the list."""
    values = record.model_dump(mode="json", exclude={"files"})
    size = sum(each.bytes for each in record.files.values())
    return {**values, "digest": record.digest, "files": len(record.files), "bytes": size}
