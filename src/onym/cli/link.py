"""`onym link`: link mentions in text to concepts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.answering import ANSWERS, Answering
from onym.cli.answers import Shown
from onym.cli.console import JSON, progress, progress_callback, tell, write_json, write_lines
from onym.cli.help import MORE
from onym.cli.inputs import (
    ENCODING,
    FAILED,
    FOLLOW_LINKS,
    ID_COLUMN,
    MAX_PROBLEMS,
    PROBLEMS,
    TEXT_COLUMN,
    count_items,
    file_rows,
    files_as_dict,
    has_failed_file,
    open_log,
    open_sources,
    report_files,
    report_log,
)
from onym.cli.options import (
    ALL,
    CODE_SYSTEM,
    FORCE,
    ID_STYLE,
    LINKER_OPTIONS,
    NLP_DATE,
    NOTE_KEYS,
    OMOP_VOCABULARY,
    command_with,
)
from onym.types import IdStyle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onym.corpora.reading import PlannedFile
    from onym.outputs.base import ExportOptions
    from onym.outputs.links import LinkCounts

_BUG = 1


app = typer.Typer()


@app.command(cls=command_with(answers=ANSWERS, linker=LINKER_OPTIONS))
def link(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(metavar="TEXT|FILE...", help="Text in quotes, or corpora: files, folders, archives, - for stdin."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file or folder, - for stdout. By default a table is printed.")
    ] = None,
    format: Annotated[  # noqa: A002
        str,
        typer.Option(
            help="Output format; by default chosen by the extension of -o. table (.tsv, .csv, .xlsx, .parquet): one row per "
            "mention with the best concept and its name. predictions (.jsonl): all candidates with scores, no text. fhir "
            "(.fhir.ndjson): a FHIR resource per document, one per line. omop (note_nlp.csv): the table note_nlp. html "
            "(.html): a page with the mentions marked. jsonl, parquet: documents with all candidates. Any other corpus "
            "format, such as pubtator (.pubtator): documents with the best concept only."
        ),
    ] = "",
    no_text: Annotated[
        bool,
        typer.Option(
            "--no-text", rich_help_panel=MORE, help="Omit the text of mentions from the formats table, fhir and omop."
        ),
    ] = False,
    id_style: Annotated[IdStyle | None, ID_STYLE] = None,
    code_system: Annotated[list[str] | None, CODE_SYSTEM] = None,
    omop_vocabulary: Annotated[Path | None, OMOP_VOCABULARY] = None,
    nlp_date: Annotated[str, NLP_DATE] = "",
    note_keys: Annotated[Path | None, NOTE_KEYS] = None,
    from_: Annotated[str, typer.Option("--from", help="Input format; detected by default.")] = "",
    text_column: Annotated[list[str] | None, TEXT_COLUMN] = None,
    id_column: Annotated[str, ID_COLUMN] = "",
    encoding: Annotated[str, ENCODING] = "",
    follow_links: Annotated[bool, FOLLOW_LINKS] = False,
    problems: Annotated[Path | None, PROBLEMS] = None,
    max_problems: Annotated[str, MAX_PROBLEMS] = "",
    force: Annotated[bool, FORCE] = False,
    is_all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Link mentions in text to concepts. Exit status 5 if files, documents or mentions could not be read or linked.

    Example: onym link "Patients with breast cancer (BC) and type 2 diabetes"
    Example: onym link notes.txt --pipeline mesh-pipeline -o links.csv
    Example: onym link notes --pipeline mesh-pipeline -o notes.fhir.ndjson
    Example: onym link CDR_TestSet.PubTator.txt --kb mesh --linker tfidf -o links.tsv
    """
    from onym.corpora.base import ReadOptions
    from onym.outputs.base import TABLE
    from onym.outputs.links import format_of, require_linked_output, write_links
    from onym.pipeline.drift import DriftWatch
    from onym.store.output import STDOUT

    answers: Answering = context.obj["answers"]
    answers.require_consistent(context.obj["linker"])
    format = format or format_of(output)  # noqa: A001
    shown = Shown.of(is_shown=output is None and format == TABLE, json=json, text=not no_text, is_all=is_all)
    output = output or STDOUT
    options = _options(format, code_system or (), nlp_date, omop_vocabulary=omop_vocabulary, note_keys=note_keys)
    if shown is None:
        require_linked_output(output, format, force=force, options=options)
    with (
        progress("linking") as bar,
        open_sources(sources, follow_links=follow_links) as found,
        open_log(output, problems, max_problems, force=force) as log,
    ):
        reading = found.read(from_, ReadOptions(tuple(text_column or ()), id_column, encoding))
        pipeline = answers.open(bar, context.obj["linker"])
        drift = DriftWatch(pipeline.calibration)
        progress_callback(bar)("linking", 0)
        counts = write_links(
            count_items(reading, bar),
            pipeline,
            output,
            format,
            text=not no_text,
            style=id_style or "",
            options=options,
            force=force,
            log=log,
            sink=shown,
            watch=drift.watch,
        )
    if shown and not json:
        shown.print()
        report_files(reading.files)
    else:
        _report(counts, reading.files, output, format, json=json, annotated=answers.kb is not None)
    report_log(log)
    if drift.warning:
        tell(drift.warning)
    if counts.left_out or counts.problems or has_failed_file(reading.files):
        raise typer.Exit(_BUG if counts.bugs else FAILED)


def _options(form: str, code_systems: Sequence[str], nlp_date: str, **paths: Path | None) -> ExportOptions:
    """Return the FHIR and OMOP options; raise ConfigError if they are given for another format."""
    from onym.outputs.base import PREDICTIONS, TABLE, ExportOptions, refuse_options

    options = ExportOptions.of(code_systems, nlp_date, **paths)
    if form in (PREDICTIONS, TABLE):
        refuse_options(options)
    return options


def _report(counts: LinkCounts, files: Sequence[PlannedFile], output: Path, form: str, *, json: bool, annotated: bool) -> None:
    from onym.corpora.corpus import describe_loss
    from onym.store.output import STDOUT

    is_streamed = output == STDOUT
    if json:
        write_json({**files_as_dict(files), **counts.as_dict(), "output": str(output)}, to_stderr=is_streamed)
    else:
        rows = [(what.replace("_", " "), f"{number:,}") for what, number in counts.as_dict().items()]
        write_lines([*file_rows(files), *rows], to_stderr=is_streamed)
        report_files(files)
    for facet, documents in counts.lost.items():
        tell(describe_loss(form, facet, documents))
    if annotated and counts.documents and not counts.mentions:
        tell("No annotated mentions found. Use --pipeline instead of --kb to detect mentions in raw text.")
