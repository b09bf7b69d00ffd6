"""`onym migrate`: carry annotations over to a new release."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, progress_callback, tell, write_json, write_lines
from onym.cli.inputs import FAILED, has_failed_file, resolve_kb
from onym.cli.options import FORCE
from onym.errors import ConfigError

if TYPE_CHECKING:
    from onym.migrate.audit import Migrated

app = typer.Typer()


@app.command()
def migrate(
    annotations: Annotated[
        str,
        typer.Argument(
            help="Corpus in any format, predictions, output of onym batch, table with ids, SSSOM, corrections, or desk."
        ),
    ],
    old: Annotated[Path, typer.Option("--from", callback=resolve_kb, help="Knowledge base of the old release.")],
    new: Annotated[Path, typer.Option("--to", callback=resolve_kb, help="Knowledge base of the new release.")],
    output: Annotated[
        str, typer.Option("-o", "--output", help="File or folder to write, as the annotations; the audit table is beside it.")
    ],
    pipeline: Annotated[
        Path | None, typer.Option(help="Pipeline of the new release: links ids with several successors again in context.")
    ] = None,
    documents: Annotated[Path | None, typer.Option(help="Documents of predictions, for --pipeline.")] = None,
    min_confidence: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="With --pipeline: a choice with a lower confidence is only suggested.")
    ] = 0.9,
    column: Annotated[str, typer.Option(help="Column of a table that has the ids; by default concept_id.")] = "",
    format: Annotated[str, typer.Option(help="Format of a corpus; detected by default.")] = "",  # noqa: A002
    audit: Annotated[
        Path | None, typer.Option(help="Audit table: .tsv, .csv, .xlsx, .jsonl or .parquet; by default OUTPUT.audit.tsv.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Also write what a person must decide to a queue; exit status 5 if there is any."),
    ] = False,
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Replace the ids of annotations by those of a new release where that is certain, and suggest candidates for the rest.

    Documents whose ids are all current keep their bytes. The audit table says for every link what happened and why. Exit
    status 5 if something could not be read or changed.

    Example: onym migrate corpus.pubtator --from mesh-2020 --to mesh-2024 -o migrated.pubtator
    Example: onym migrate mapped.csv --from hpo-2025 --to hpo-2026 -o migrated.csv --strict
    """
    from onym.kb import KnowledgeBase
    from onym.migrate.run import migrate as run
    from onym.packs.locate import load
    from onym.store.output import require_file

    if not Path(annotations).is_dir():
        require_file(Path(output), force=force)
    if documents and not pipeline:
        what = "--documents are read to link again in context, which needs a pipeline"
        raise ConfigError("config-invalid", what, fix="add --pipeline, or leave out --documents")
    with progress("migrating") as bar:
        result = run(
            annotations,
            KnowledgeBase.open(old),
            KnowledgeBase.open(new),
            output,
            format=format,
            column=column,
            pipeline=load(pipeline) if pipeline else None,
            documents=documents,
            min_confidence=min_confidence,
            audit=audit,
            strict=strict,
            force=force,
            progress=progress_callback(bar),
        )
    _show(result, json=json)
    if result.problems or has_failed_file(result.files) or (strict and result.count_undecided()):
        raise typer.Exit(FAILED)


def _show(result: Migrated, *, json: bool) -> None:
    counts = result.counts()
    if json:
        write_json({**counts, "problems": [asdict(problem) for problem in result.problems]})
        return
    write_lines([(name, f"{count:,}") for name, count in counts.items() if count])
    for problem in result.problems:
        tell(f"{problem.code}: {problem.document_id}: {problem.what} {problem.where}".rstrip())
