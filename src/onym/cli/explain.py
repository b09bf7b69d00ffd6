"""`onym explain` and `onym show`: explain links, and write HTML pages with highlighted mentions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.answering import PIPELINE_ANSWERS, Answering
from onym.cli.console import JSON, progress, tell, write_json, write_lines, write_plain
from onym.cli.inputs import FAILED, has_failed_file, open_sources, report_files, report_problem, resolve_kb
from onym.cli.options import FORCE, command_with
from onym.errors import format_id

if TYPE_CHECKING:
    from onym.corpora.base import Item
    from onym.pipeline import Pipeline
    from onym.pipeline.explanation import Explanations
    from onym.types import Problem

app = typer.Typer()


@app.command(cls=command_with(answers=PIPELINE_ANSWERS))
def explain(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(metavar="TEXT|FILE...", help="Text in quotes, or corpora: files, folders, archives, - for stdin."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="HTML file to write, with highlighted mentions; hover over a mention to see its explanation."
        ),
    ] = None,
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Explain links: matched name, reasons, features and runner-up, or why a mention is not linked.

    Also lists names of the knowledge base that occur in the text but were rejected as mentions, with the reason.

    Exit status 5 if files, documents or mentions could not be read.

    Example: onym explain "Patients with breast cancer (BC) and type 2 diabetes"
    Example: onym explain notes.txt -o explained.html
    """
    from onym.errors import ConfigError
    from onym.store.output import require_file

    if output is not None and json:
        raise ConfigError("config-invalid", "--json and -o cannot be combined: -o writes HTML", fix="drop one of them")
    if output is not None:
        require_file(output, force=force)
    problems: list[Problem] = []
    with open_sources(sources) as found:
        reading = found.read()
        answers: Answering = context.obj["answers"]
        explained = _explain_items(reading, answers.open(), problems)
        if output is None:
            _print(explained, json=json)
        else:
            _write(explained, output, force=force)
    report_files(reading.files)
    if problems or has_failed_file(reading.files):
        raise typer.Exit(FAILED)


def _explain_items(items: Iterable[Item], pipeline: Pipeline, problems: list[Problem]) -> Iterator[Explanations]:
    from onym.types import Problem

    for item in items:
        if isinstance(item, Problem):
            problems.append(item)
            report_problem(item)
        else:
            yield pipeline.explain(item)


def _print(explained: Iterable[Explanations], *, json: bool) -> None:
    for each in explained:
        if not json:
            write_plain("\n".join(each.lines()))
            continue
        for row in each.rows():
            write_json({"document": each.document.id, **row})
        if each.note:
            tell(f"document {format_id(each.document.id)}: {each.note}")


def _write(explained: Iterable[Explanations], output: Path, *, force: bool) -> None:
    from onym.outputs.html import write_page
    from onym.store.output import whole_file

    with progress("explaining"), whole_file(output, force=force) as page:
        count = write_page(explained, "Explained links", page)
    write_lines([("documents", f"{count:,}"), ("page", str(output))])


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="Output of onym link (jsonl or parquet), or any annotated corpus.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")],
    kb: Annotated[
        Path | None,
        typer.Option("--kb", callback=resolve_kb, help="Knowledge base that provides the preferred names of concepts."),
    ] = None,
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Write an HTML page of documents with highlighted mentions; hover over a mention to see its concept.

    Example: onym show linked.jsonl --kb mesh -o linked.html
    """
    from onym.kb import KnowledgeBase
    from onym.outputs.html import read_shown, write_page
    from onym.store.output import require_file, whole_file

    require_file(output, force=force)
    with progress("writing"):
        known = KnowledgeBase.open(kb) if kb else None
        with whole_file(output, force=force) as page:
            count = write_page(read_shown(file, known), file.name, page)
    write_lines([("documents", f"{count:,}"), ("page", str(output))])
