"""`onym kb`: build and inspect knowledge bases."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onym.cli.console import JSON, progress, progress_callback, stderr, tell, write_json, write_lines, write_plain
from onym.cli.inputs import filter_of, resolve_kb
from onym.cli.options import FILTER_OPTIONS, FORCE, ID_STYLE, command_with
from onym.errors import ConfigError, printable
from onym.types import IdStyle
from onym.vocabularies import downloads

if TYPE_CHECKING:
    from onym.kb.ignored import IgnoredFile
    from onym.kb.recipe import Recipe

_FREE = ", ".join(name for name, each in downloads().items() if each.download)
_LICENSED = ", ".join(name for name, each in downloads().items() if not each.download)
app = typer.Typer(help="Build knowledge bases from terminology releases, search and inspect them.", no_args_is_help=True)
FOLDER = Annotated[
    Path,
    typer.Argument(callback=resolve_kb, help="Knowledge base; or a pipeline such as starter, to use its knowledge base."),
]
OLD = typer.Argument(callback=resolve_kb, help="Older knowledge base.")
NEW = typer.Argument(callback=resolve_kb, help="Newer knowledge base.")


@app.command()
def build(
    sources: Annotated[list[str], typer.Argument(help="Terminology releases (files, folders, zips), or one recipe (.toml).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the knowledge base.")],
    format: Annotated[str, typer.Option(help="Format of the releases; detected by default.")] = "",  # noqa: A002
    language: Annotated[
        list[str] | None, typer.Option(help="Keep names in this language; 'all' for all languages. May be repeated.")
    ] = None,
    vocabulary: Annotated[
        list[str] | None, typer.Option(help="Keep names from this source (SAB in UMLS). May be repeated.")
    ] = None,
    semantic_type: Annotated[
        list[str] | None, typer.Option(help="Keep concepts of this semantic type. May be repeated.")
    ] = None,
    shared_names: Annotated[
        str | None,
        typer.Option(help="Names shared by several concepts: keep, or fewest (the concept with the fewest names keeps it)."),
    ] = None,
    replacements: Annotated[str | None, typer.Option(help="Table of replaced ids. Two columns: old id, new id.")] = None,
    undo: Annotated[
        list[str] | None, typer.Option(help="Id of a concept that must not be joined with another concept. May be repeated.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="For tables: column with a role, such as id=Code. May be repeated.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="For tables: prefix for ids without a prefix, such as mesh.")] = "",
    species: Annotated[
        list[str] | None, typer.Option(help="For NCBI Gene: taxon id of a species to read, such as 9606. May be repeated.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="Folder that the paths in a recipe are relative to.")] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build a knowledge base from terminology releases.

    Example: onym kb build hp.obo -o hpo-kb
    """
    from onym.store.output import require_artefact

    require_artefact(output)
    from onym.kb.build import build_kb
    from onym.kb.ignored import summarise_ignored

    options = {
        "languages": [] if language == ["all"] else language,
        "vocabularies": vocabulary,
        "semantic_types": semantic_type,
        "shared_names": shared_names,
        "replacements": replacements,
    }
    of_sources = {"format": format, "prefix": prefix, "species": species or []}
    recipe, base = _recipe_of(sources, options, of_sources, column or [], root)
    recipe = recipe.without_joins(undo or [])
    ignored: list[IgnoredFile] = []
    try:
        with progress("reading") as bar:
            manifest = build_kb(recipe, output, root=base, progress=progress_callback(bar), report_ignored=ignored.extend)
    finally:
        for line in summarise_ignored(ignored):
            tell(line)
    if json:
        files = [asdict(file) for file in ignored]
        write_json({"folder": str(output), "digest": manifest.digest()[:16], "counts": manifest.counts, "ignored": files})
    else:
        write_lines([(name, f"{count:,}") for name, count in manifest.counts.items()])


@app.command()
def info(folder: FOLDER, json: Annotated[bool, JSON] = False) -> None:
    """Show the size and sources of a knowledge base, and what the build dropped.

    Example: onym kb info hpo-kb
    """
    from onym.kb import KnowledgeBase

    kb = KnowledgeBase.open(folder)
    manifest, report = kb.manifest, kb.report()
    if json:
        write_json({"digest": kb.digest, **manifest.model_dump(mode="json", exclude={"files"}), **report})
        return
    write_lines(
        [("digest", kb.digest)]
        + [(name, f"{count:,}") for name, count in manifest.counts.items()]
        + [("input", f"{entry.name} ({entry.bytes:,} bytes, sha256 {entry.sha256[:16]})") for entry in manifest.inputs]
        + [("ignored", f"{file['name']}: {file['why']}") for file in report.get("ignored", [])]
        + [("dropped", f"{reason}: {count:,}") for reason, count in report["dropped"].items()]
        + [("decided", f"{reason}: {count:,}") for reason, count in report["decided"].items()]
    )


@app.command()
def search(
    folder: FOLDER,
    text: Annotated[str, typer.Argument(help="Name, prefix of a name, or some of its words.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of concepts.")] = 10,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find concepts by name.

    Example: onym kb search hpo-kb "heart attack"
    """
    from onym.kb import KnowledgeBase
    from onym.kb.search import search

    hits = search(KnowledgeBase.open(folder), text, limit)
    if json:
        write_json([asdict(hit) for hit in hits])
    else:
        write_lines([(hit.concept_id, hit.preferred_name, hit.name, hit.match) for hit in hits])


@app.command()
def show(
    folder: FOLDER,
    concept_id: Annotated[str, typer.Argument(help="Concept id, current or retired; case-insensitive, prefix optional.")],
    tree: Annotated[
        bool, typer.Option("--tree", help="Show the paths from the top of the hierarchy to the concept, and its children.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show a concept: its ids, names, parents, types, definitions and cross-references; for a retired id, its successors.

    Example: onym kb show hpo-kb HP:0001658
    Example: onym kb show hpo-kb HP:0001658 --tree
    """
    from onym.cli.concept import concept_rows, concept_values, list_successor_rows, tree_lines
    from onym.kb import KnowledgeBase

    kb = KnowledgeBase.open(folder)
    if tree:
        kb.hierarchy.require_stored("--tree")
    found = kb.resolve(concept_id)
    if len(found) != 1 and found.how != "retired":
        kb[concept_id]  # raises: unknown or ambiguous
    if json:
        write_json(concept_values(kb, found, tree=tree))
        return
    rows = list_successor_rows(kb, found)
    if found and not tree:
        rows += concept_rows(kb, kb.concept(found[0]))
    if rows:
        write_lines(rows)
    if found and tree:
        write_plain("\n".join(printable(line) for line in tree_lines(kb, found[0])))


@app.command()
def types(folder: FOLDER, json: Annotated[bool, JSON] = False) -> None:
    """List the semantic groups and types with their number of concepts; `--types` accepts both.

    Example: onym kb types hpo-kb
    """
    from onym.kb import KnowledgeBase
    from onym.kb.export import type_frame

    rows = type_frame(KnowledgeBase.open(folder))
    if json:
        write_json(rows.to_dicts())
    else:
        write_lines([(level, name, f"{concepts:,}") for level, name, concepts in rows.iter_rows()])


@app.command()
def joins(folder: FOLDER, json: Annotated[bool, JSON] = False) -> None:
    """List the concepts that were joined with a concept of another vocabulary, and by which rule; counts go to stderr.

    To undo a join, add the first id to `undo` under `[joins]` in the recipe.

    Example: onym kb joins open-kb > joins.txt
    """
    from onym.kb import KnowledgeBase
    from onym.kb.export import join_frame

    rows = join_frame(KnowledgeBase.open(folder))
    counts = dict(rows["rule"].value_counts().sort("rule").iter_rows())
    if json:
        write_json({"counts": counts, "joins": rows.to_dicts()})
        return
    stderr().print(", ".join(f"{rule} {count:,}" for rule, count in counts.items()) or "no joins", soft_wrap=True)
    write_lines(list(rows.iter_rows()))


@app.command()
def check(folder: FOLDER, json: Annotated[bool, JSON] = False) -> None:
    """Verify the checksums of all files and report problems. Exit status 4 if the knowledge base is corrupt.

    Example: onym kb check hpo-kb
    """
    from onym.kb.check import check_kb

    with progress("checking"):
        problems = check_kb(folder)
    if json:
        write_json([asdict(problem) for problem in problems])
    else:
        write_lines([(p.level, p.what, "; ".join(p.examples)) for p in problems] or [("ok", "no problems found")])
    if any(problem.level == "error" for problem in problems):
        raise typer.Exit(4)


@app.command()
def diff(
    old: Annotated[Path, OLD],
    new: Annotated[Path, NEW],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write: .md, .html, .json, .sssom.tsv or .kgcl.")
    ] = None,
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """List what changed between two releases, with names that changed concept first; counts go to stderr.

    Example: onym kb diff hpo-2025 hpo-2026 > changes.txt
    Example: onym kb diff hpo-2025 hpo-2026 -o changes.html
    """
    from onym.kb import KnowledgeBase
    from onym.migrate.changes import ChangeReport, changes_to_dict, require_changes, write_changes

    if output:
        require_changes(output, force=force)
    with progress("comparing"):
        report = ChangeReport.of(KnowledgeBase.open(old), KnowledgeBase.open(new))
        if output:
            write_changes(report, output, force=force)
    counts = report.difference.counts()
    if json:
        write_json(counts if output else changes_to_dict(report.difference))
        return
    shown = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items() if count)
    stderr().print(shown, soft_wrap=True)
    if not output:
        write_lines([(section.name, *row) for section in report.sections(limit=sum(counts.values())) for row in section.rows])


@app.command()
def replacements(
    old: Annotated[Path, OLD],
    new: Annotated[Path, NEW],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Table to write: .tsv, .csv, .xlsx, .jsonl, .parquet or .sssom.tsv.")
    ],
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write the table of replaced ids: the new id where it is certain, else the candidates in a column of their own.

    `onym kb build --replacements` reads the table.

    Example: onym kb replacements mesh-2020 mesh-2024 -o replaced.tsv
    """
    from onym.kb import KnowledgeBase
    from onym.migrate.changes import write_replacements
    from onym.store.output import require_file

    require_file(output, force=force)
    with progress("comparing"):
        counts = write_replacements(KnowledgeBase.open(old), KnowledgeBase.open(new), output, force=force)
    if json:
        write_json(counts)
    else:
        write_lines([(change, f"{count:,}") for change, count in counts.items()])


@app.command(cls=command_with(filter=FILTER_OPTIONS))
def export(
    context: typer.Context,
    folder: FOLDER,
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write, or - for stdout.")],
    format: Annotated[str, typer.Option(help="jsonl, biosyn, genbioel or tsv.")] = "jsonl",  # noqa: A002
    id_style: Annotated[IdStyle, ID_STYLE] = "curie",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a knowledge base, or some of its concepts, in another format.

    Example: onym kb export hpo-kb --format biosyn -o hpo.txt
    Example: onym kb export hpo-kb --under HP:0000707 -o nervous-system.jsonl
    """
    from onym.store.output import require_file

    require_file(output, force=force, may_stream=True)
    from onym.kb import KnowledgeBase
    from onym.kb.export import export_kb
    from onym.kb.ranking import select_concepts
    from onym.store.output import whole_file

    kb = KnowledgeBase.open(folder)
    only = select_concepts(kb, filter_of(context))
    total = len(kb) if only is None else int(only.sum())
    with progress("writing", total=total) as bar, whole_file(output, force=force) as file:

        def advance(done: int) -> None:
            bar.update(bar.task_ids[0], completed=done)

        export_kb(kb, file, format, id_style, advance, only=only)  # type: ignore[arg-type]


@app.command()
def download(
    name: Annotated[str, typer.Argument(help=f"Terminology: {_FREE}. For {_LICENSED}, prints how to obtain it.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path(),
    mirror: Annotated[str, typer.Option(help="Download from this mirror instead; it must have the same file names.")] = "",
    sha256: Annotated[str, typer.Option(help="Expected SHA-256 of the file.")] = "",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Download a terminology from its official site. Resumes if interrupted.

    Example: onym kb download hpo -o releases
    """
    from onym.store.download import download
    from onym.store.output import require_file

    known = downloads()
    if name not in known:
        raise ConfigError("release-unknown", f"no release named {name!r}", fix=f"use one of {', '.join(known)}")
    release, title = known[name], known[name].full_title or known[name].title
    if not release.download:
        raise ConfigError(
            "release-licensed", f"{title} requires a licence, so it cannot be downloaded automatically", fix=release.how
        )
    for url in release.download:
        require_file(output / url.rpartition("/")[2])
    stderr().print(f"{title}. Licence: {release.licence}", soft_wrap=True)
    records = []
    for url in release.download:
        file = url.rpartition("/")[2]
        address = f"{mirror.rstrip('/')}/{file}" if mirror else url
        with progress(file) as bar:
            record = download(
                address,
                output / file,
                mirror=mirror,
                sha256=sha256,
                advance=lambda got, total, bar=bar: bar.update(bar.task_ids[0], completed=got, total=total),  # type: ignore[misc]
            )
        records.append({"file": str(output / file), "url": record.url, "bytes": record.bytes, "sha256": record.sha256})
    if json:
        write_json(records)
    else:
        write_lines([(str(r["file"]), f"{r['bytes']:,} bytes", f"sha256 {r['sha256']}") for r in records])


def _recipe_of(
    sources: list[str], options: dict[str, Any], source_options: dict[str, Any], columns: list[str], root: Path | None
) -> tuple[Recipe, Path]:
    """Return the recipe and the folder that its paths are relative to; command-line options override the recipe."""
    from onym.kb.recipe import Recipe

    overrides = {key: value for key, value in options.items() if value is not None}
    if len(sources) == 1 and sources[0].endswith(".toml"):
        path = Path(sources[0])
        recipe = Recipe.from_toml(path)
        return Recipe.of({**recipe.model_dump(), **overrides}, where=str(path)), root or path.parent
    named = {"columns": _columns(columns), **source_options}
    return Recipe.of({"sources": [{"path": path, **named} for path in sources], **overrides}), root or Path()


def _columns(pairs: list[str]) -> dict[str, str]:
    found = dict(pair.partition("=")[::2] for pair in pairs)
    if bad := [role for role, name in found.items() if not name]:
        raise ConfigError("config-invalid", f"--column {bad[0]!r} is not role=column", fix="write it as in --column id=Code")
    return found
