"""`onym link`: link mentions in text to concepts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    correct,
    count_items,
    file_rows,
    files_as_dict,
    filter_of,
    has_failed_file,
    open_log,
    open_sources,
    report_files,
    report_log,
    require_choice,
    require_pipeline,
    resolve_kb,
    use_default,
)
from onym.cli.options import (
    ALL,
    ASSERTION,
    CODE_SYSTEM,
    CONCEPTS,
    CORRECTIONS,
    COVERAGE,
    DOWNLOAD,
    FILTER_OPTIONS,
    FORCE,
    ID_STYLE,
    LINKER,
    LINKER_OPTIONS,
    NLP_DATE,
    NOTE_KEYS,
    OMOP_VOCABULARY,
    PRECISION,
    PREFER,
    RESTRICT,
    SOME_PIPELINE_OPTIONS,
    TOP_K,
    VERIFY,
    command_with,
    split_commas,
)
from onym.store.cache import Verify
from onym.types import IdStyle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onym.corpora.reading import PlannedFile
    from onym.outputs.base import ExportOptions
    from onym.outputs.links import LinkCounts

_BUG = 1


app = typer.Typer()


@app.command(cls=command_with(config=SOME_PIPELINE_OPTIONS, filter=FILTER_OPTIONS, linker=LINKER_OPTIONS))
def link(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(metavar="TEXT|FILE...", help="Text in quotes, or corpora: files, folders, archives, - for stdin."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file or folder, - for stdout. By default a table is printed.")
    ] = None,
    kb: Annotated[
        Path | None, typer.Option("--kb", callback=resolve_kb, help="Knowledge base, for documents with annotated mentions.")
    ] = None,
    pipeline: Annotated[
        Path | None,
        typer.Option(
            help="Pipeline, for raw text; by default the best installed one, at first the built-in starter. It detects "
            "mentions in documents without annotations."
        ),
    ] = None,
    linker: Annotated[str | None, LINKER] = None,
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
    concepts: Annotated[Path | None, CONCEPTS] = None,
    restrict: Annotated[bool, RESTRICT] = False,
    prefer: Annotated[str, PREFER] = "",
    top_k: Annotated[int | None, TOP_K] = None,
    precision: Annotated[float | None, PRECISION] = None,
    coverage: Annotated[float | None, COVERAGE] = None,
    corrections: Annotated[Path | None, CORRECTIONS] = None,
    assertion: Annotated[bool | None, ASSERTION] = None,
    download: Annotated[bool, DOWNLOAD] = False,
    verify: Annotated[Verify, VERIFY] = "once",
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
    from onym.kb import KnowledgeBase
    from onym.kb.ranking import select_concepts
    from onym.linkers import linker_config, open_linker
    from onym.outputs.base import TABLE
    from onym.outputs.links import format_of, require_linked_output, write_linked, write_links
    from onym.packs.locate import load
    from onym.parts import OpenContext
    from onym.pipeline.pipeline import DriftWatch
    from onym.store.output import STDOUT

    of_linker, wanted = context.obj["linker"], filter_of(context, concepts)
    has_own = bool(linker or top_k or of_linker)
    require_choice(kb, pipeline, has_own=has_own)
    require_pipeline(kb, precision, coverage, corrections)
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
        opening = OpenContext(download, progress_callback(bar), verify)
        reading = found.read(from_, ReadOptions(tuple(text_column or ()), id_column, encoding))
        items = count_items(reading, bar)
        if kb is None:
            pipeline = pipeline or use_default()
            loaded = (
                load(pipeline, context=opening, prefer=split_commas(prefer)).with_precision(precision).with_coverage(coverage)
            )
            loaded = loaded.with_filter(restrict=restrict, **wanted.model_dump())
            loaded = correct(loaded.with_assertion(assertion), corrections)
            drift = DriftWatch(loaded.calibration)
            progress_callback(bar)("linking", 0)
            counts = write_linked(
                items,
                lambda docs: drift.watch(loaded.link_many(docs)),
                loaded.source(),
                output,
                format,
                text=not no_text,
                style=id_style or "",
                options=options,
                force=force,
                log=log,
                sink=shown,
            )
        else:
            known = KnowledgeBase.open(kb, verify=verify, prefer=split_commas(prefer))
            only = select_concepts(known, wanted)
            named = open_linker(linker_config(linker or "exact", **of_linker), known, opening)
            progress_callback(bar)("linking", 0)
            counts = write_links(
                items,
                named,
                output,
                format,
                top_k=top_k or 10,
                only=only,
                restrict=restrict,
                assertion=assertion is not False,
                text=not no_text,
                style=id_style or "",
                options=options,
                force=force,
                log=log,
                sink=shown,
            )
    if shown and not json:
        shown.print()
        report_files(reading.files)
    else:
        _report(counts, reading.files, output, format, json=json, annotated=kb is not None)
    report_log(log)
    if kb is None and drift.warning:
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
