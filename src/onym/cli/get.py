"""`onym get` and `onym info`: install pipelines of the catalogue, and list the available components."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, progress_callback, stderr, write_json, write_lines

if TYPE_CHECKING:
    from onym.packs.install import ListedPipeline

app = typer.Typer()


@app.command()
def get(
    name: Annotated[
        str, typer.Argument(help="Name of a pipeline in the catalogue; without it, all pipelines are listed.")
    ] = "",
    list_all: Annotated[
        bool, typer.Option("--list", help="List all pipelines, and mark the installed ones and the default.")
    ] = False,
    mirror: Annotated[str, typer.Option(help="Download from this mirror instead; it must have the same paths.")] = "",
    from_: Annotated[
        Path | None, typer.Option("--from", help="Folder with downloaded files; only files that are not in it are downloaded.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="File or folder of a licensed release, such as UMLS, that you have downloaded yourself.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Rebuild an installed pipeline from the same downloads.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Install a pipeline of the catalogue: download releases and models, build the knowledge base. Resumes if interrupted.

    Example: onym get hpo-phenotypes
    """
    from onym.packs.install import install
    from onym.packs.recipe import FileSources, read_recipe

    if list_all or not name:
        _list(json=json)
        return
    recipe = read_recipe(name)
    for each in (*recipe.releases, *recipe.models):
        stderr().print(f"{each.title}, {each.version}. Licence: {each.licence}", soft_wrap=True, markup=False, highlight=False)
    with progress(name) as bar:
        done = install(recipe, FileSources(mirror, from_, file), force=force, progress=progress_callback(bar))
    if json:
        files = [
            {"part": each.part, "file": each.name, "url": each.url, "bytes": each.bytes, "sha256": each.sha256}
            for each in done.files
        ]
        write_json({"name": name, "folder": str(done.folder), "new": done.is_new, "files": files})
        return
    write_lines([(each.name, f"{each.bytes:,} bytes", f"sha256 {each.sha256}") for each in done.files])
    write_lines(
        [("installed" if done.is_new else "already installed", str(done.folder)), ("load with", f'onym.load("{name}")')]
    )


def _list(*, json: bool) -> None:
    """Print all available pipelines."""
    from onym.packs.install import list_pipelines

    found = list_pipelines()
    if json:
        write_json([{**asdict(each), "default": each.is_default} for each in found])
        return
    write_lines([(each.name, _state(each), each.title, "; ".join(dict.fromkeys(each.licences.values()))) for each in found])


def _state(listed: ListedPipeline) -> str:
    if listed.is_default:
        return "installed, the default"
    return "installed" if listed.installed else f"{listed.megabytes:,.0f} MB to download"


@app.command()
def info(json: Annotated[bool, JSON] = False) -> None:
    """List the installed pipelines and the default one; all linkers, detectors, readers and formats, and their packages.

    Example: onym info
    """
    from onym.packs.install import list_pipelines
    from onym.registry import REGISTRIES

    pipelines = [each for each in list_pipelines() if each.installed]
    found = [
        {"kind": part.kind, "name": part.name, "package": part.package, "version": part.version, "refused": refusal}
        for registry in REGISTRIES
        for part, refusal in registry.parts()
    ]
    if json:
        own = [{"kind": "pipeline", "name": each.name, "title": each.title, "default": each.is_default} for each in pipelines]
        write_json([*own, *found])
        return
    write_lines([("pipeline", each.name, each.title, "default" if each.is_default else "") for each in pipelines])
    rows = [(each["kind"], each["name"], f"{each['package']} {each['version']}", each["refused"]) for each in found]
    write_lines([(*row, f"refused: {refused}" if refused else "") for *row, refused in rows])
