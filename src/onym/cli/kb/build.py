"""`onym kb build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    sources: Annotated[list[str], typer.Argument(help="Releases (files, folders, zips), or one recipe (.toml).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the knowledge base.")],
    format: Annotated[str, typer.Option(help="Format of the releases; by default it is recognised.")] = "",  # noqa: A002
    language: Annotated[list[str] | None, typer.Option(help="Keep names of this language; 'all' for all languages.")] = None,
    vocabulary: Annotated[list[str] | None, typer.Option(help="Keep names of this source (SAB in UMLS).")] = None,
    semantic_type: Annotated[list[str] | None, typer.Option(help="Keep concepts of this semantic type.")] = None,
    shared_names: Annotated[str | None, typer.Option(help="Names shared by several concepts: keep, or fewest.")] = None,
    replacements: Annotated[str | None, typer.Option(help="Table of replaced ids: old id, new id.")] = None,
    undo: Annotated[list[str] | None, typer.Option(help="Do not join the concept with this id.")] = None,
    column: Annotated[list[str] | None, typer.Option(help="For tables: role=column, such as id=Code.")] = None,
    prefix: Annotated[str, typer.Option(help="For tables: prefix of ids without one, such as mesh.")] = "",
    root: Annotated[Path | None, typer.Option(help="Folder that the paths in a recipe are relative to.")] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build a knowledge base.

    Example: onym kb build hp.obo -o hpo-kb
    """
    from onym.store.output import require_artefact

    require_artefact(output)
    from onym.cli.kb._recipe import recipe_of
    from onym.kb.build import build_kb

    options = {
        "languages": [] if language == ["all"] else language,
        "vocabularies": vocabulary,
        "semantic_types": semantic_type,
        "shared_names": shared_names,
        "replacements": replacements,
    }
    recipe, base = recipe_of(sources, options, {"format": format, "prefix": prefix}, column or [], root)
    recipe = recipe.without_joins(undo or [])
    with progress("reading") as bar:
        manifest = build_kb(
            recipe, output, root=base, progress=lambda what, rows: bar.update(bar.task_ids[0], description=what, completed=rows)
        )
    if json:
        write_json({"folder": str(output), "digest": manifest.digest()[:16], "counts": manifest.counts})
    else:
        write_lines([(name, f"{count:,}") for name, count in manifest.counts.items()])
