"""`onym batch`: link large corpora in shards, with any number of processes and machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.answering import Answering, AnswerOptions, use_default
from onym.cli.console import JSON, estimate_remaining_seconds, progress, progress_callback, tell, write_json, write_lines
from onym.cli.inputs import ENCODING, FAILED, ID_COLUMN, TEXT_COLUMN
from onym.cli.options import (
    CODE_SYSTEM,
    FORCE,
    NLP_DATE,
    NOTE_KEYS,
    OMOP_VOCABULARY,
    command_with,
)

if TYPE_CHECKING:
    from rich.progress import Progress

    from onym.batch.engines import Advance
    from onym.batch.ledger import Ledger
    from onym.cli.console import Lines

app = typer.Typer(
    help="Link large corpora in shards: resumable, exactly once, on one machine, in job arrays or on Ray.", no_args_is_help=True
)
OUT = Annotated[str, typer.Argument(metavar="OUT", help="Folder of the run, or a URL such as s3://bucket/run.")]
_BUG = 1
_SHOWN = ("documents", "mentions", "linked", "tied", "deleted")
_BAR = 40  # width of the progress bar in characters


@app.command(cls=command_with(answers=AnswerOptions(without=("kb", "linker", "prefer", "download", "verify"))))
def plan(
    context: typer.Context,
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Corpora: files, folders or archives.")],
    output: Annotated[str, typer.Option("--output", "-o", help="New folder for the run, or a URL such as s3://bucket/prefix.")],
    from_: Annotated[str, typer.Option("--from", help="Input format; detected by default.")] = "",
    text_column: Annotated[list[str] | None, TEXT_COLUMN] = None,
    id_column: Annotated[str, ID_COLUMN] = "",
    encoding: Annotated[str, ENCODING] = "",
    no_text: Annotated[bool, typer.Option("--no-text", help="Omit the text of mentions from the output.")] = False,
    private: Annotated[
        bool, typer.Option("--private", help="Make the output and its exports readable only by you (file mode 0600).")
    ] = False,
    shard_mb: Annotated[
        int,
        typer.Option("--shard-mb", min=1, help="Size of a shard: small files are combined, and large JSONL files are split."),
    ] = 32,
    shard_documents: Annotated[
        int, typer.Option("--shard-documents", min=1, help="Maximum documents per shard, for large files that are not JSONL.")
    ] = 5_000,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Plan a run: find the input files, compute their checksums and split them into shards.

    Example: onym batch plan pubmed/ --pipeline mesh-pipeline -o linked
    """
    from onym.batch.planning import plan_batch
    from onym.store.limits import MIB

    answers: Answering = context.obj["answers"]
    with progress("planning"):
        plan = plan_batch(
            sources,
            answers.pipeline or use_default(),
            output,
            format=from_,
            options=answers.options,
            corrections=answers.corrections,
            components=answers.components,
            text=not no_text,
            private=private,
            shard_bytes=shard_mb * MIB,
            shard_documents=shard_documents,
            text_columns=text_column or (),
            id_column=id_column,
            encoding=encoding,
        )
    files = sum(len(group.files) for shard in plan.shards for group in shard.groups)
    size = sum(shard.bytes for shard in plan.shards)
    if json:
        write_json({"shards": len(plan.shards), "files": files, "bytes": size, "aside": [file.name for file in plan.aside]})
    else:
        write_lines([("shards", f"{len(plan.shards):,}"), ("files", f"{files:,}"), ("megabytes", f"{size / 1e6:,.1f}")])
    for file in plan.aside:
        tell(f"{file.name}: {file.code or 'ignored'}: {file.why}")
    if plan.unreadable_files:
        raise typer.Exit(FAILED)


@app.command()
def run(
    out: OUT,
    engine: Annotated[str, typer.Option(help="local: processes on this machine; ray: a Ray cluster.")] = "local",
    address: Annotated[
        str, typer.Option(help="Address of the Ray cluster, such as auto or head:6379; by default a local cluster is started.")
    ] = "",
    workers: Annotated[int | None, typer.Option(min=1, max=4096, help="Worker processes; by default one per CPU.")] = None,
    part: Annotated[
        str, typer.Option(metavar="I/N", help="Link only every N-th shard, starting with shard I, such as 3/8. For job arrays.")
    ] = "",
    pipeline: Annotated[
        Path | None, typer.Option(help="Path of the pipeline on this machine, if it differs from the plan.")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Link the shards that are not done yet. Resumes if interrupted; exit status 5 if anything could not be read or linked.

    Example: onym batch run linked --workers 8
    """
    from onym.batch.run import run_batch

    with progress("opening the pipeline") as bar:
        ledger = run_batch(
            out, engine=engine, address=address, workers=workers, part=part, pipeline=pipeline, progress=_advance_on(bar)
        )
    _show(ledger, json=json)
    _leave(ledger)


def _advance_on(bar: Progress | Lines) -> Callable[[Advance], None]:
    """Return a progress callback that shows the number of linked documents and the time left."""
    began = time.monotonic()

    def show(advance: Advance) -> None:
        what = f"documents linked, {advance.done:,} of {advance.shards:,} shards done"
        left = estimate_remaining_seconds(advance.share, time.monotonic() - began)
        bar.update(bar.task_ids[0], description=what, completed=advance.documents, left=left)

    return show


@app.command()
def status(
    out: OUT,
    live: Annotated[bool, typer.Option("--live", help="Follow the run until it is done, with rate and time left.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show how much of a run is done, and the problems so far. Works on any machine that can read the run.

    Example: onym batch status linked --live
    """
    from onym.batch.ledger import status

    ledger = _follow(out) if live else status(out)
    _show(ledger, json=json)
    if not ledger.is_done:
        raise typer.Exit(FAILED)


def _follow(out: str) -> Ledger:
    """Show progress until the run is done, and return the final ledger."""
    from onym.batch.ledger import watch

    looks = watch(out)
    look = next(looks)
    with progress("linked", total=len(look.ledger.plan.shards)) as bar:
        bar.update(bar.task_ids[0], completed=len(look.ledger.receipts))
        for look in looks:
            bar.update(bar.task_ids[0], description=look.description, completed=len(look.ledger.receipts))
    return look.ledger


@app.command()
def verify(
    out: OUT,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Verify all output files against the checksums in their footers. Exit status 4 if a file is missing or changed.

    Example: onym batch verify linked
    """
    from onym.batch.ledger import status, verify

    with progress("checking", total=len(status(out).plan.shards)) as bar:
        faults = verify(out, progress_callback(bar))
    if json:
        write_json({"faults": [{"shard": fault.shard, "what": fault.what} for fault in faults]})
    else:
        write_lines([("faults", f"{len(faults):,}")])
        for fault in faults:
            tell(f"{fault.shard}: {fault.what}")
    if faults:
        raise typer.Exit(4)


@app.command()
def export(
    out: OUT,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write: .parquet, .csv, .tsv, .jsonl, .xlsx; .fhir.ndjson; note_nlp.csv."),
    ],
    format: Annotated[  # noqa: A002
        str,
        typer.Option(help="Write documents in a corpus format instead, such as pubtator, fhir or omop; rereads the inputs."),
    ] = "",
    code_system: Annotated[list[str] | None, CODE_SYSTEM] = None,
    omop_vocabulary: Annotated[Path | None, OMOP_VOCABULARY] = None,
    nlp_date: Annotated[str, NLP_DATE] = "",
    note_keys: Annotated[Path | None, NOTE_KEYS] = None,
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Write the links of a finished run to one file.

    Example: onym batch export linked -o links.parquet
    """
    from onym.batch.exporting import export
    from onym.corpora.corpus import describe_loss
    from onym.outputs.base import TABLE, ExportOptions, format_of_path

    options = ExportOptions.of(code_system or (), nlp_date, omop_vocabulary=omop_vocabulary, note_keys=note_keys)
    with progress("exporting"):
        written = export(out, output, format, options=options, force=force)
    is_table = (format or format_of_path(output, prefer=TABLE) or TABLE) == TABLE
    count = ("mentions", written.mentions) if is_table else ("documents", written.documents)
    write_lines([(count[0], f"{count[1]:,}"), ("output", str(output))])
    for what, documents in written.lost.items():
        tell(describe_loss(format, what, documents))


@app.command()
def compact(
    out: OUT,
    output: Annotated[Path, typer.Option("--output", "-o", help="Parquet file to write.")],
    latest: Annotated[bool, typer.Option("--latest", help="Keep only the latest version of each document.")] = False,
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write the current state of PubMed baseline and update files: later files override earlier ones and deletions apply.

    Example: onym batch compact linked -o current.parquet
    """
    from onym.batch.exporting import compact

    with progress("compacting"):
        found = asdict(compact(out, output, latest=latest, force=force))
    if json:
        write_json({**found, "output": str(output)})
    else:
        write_lines([*((name.replace("_", " "), f"{count:,}") for name, count in found.items()), ("output", str(output))])


def _show(ledger: Ledger, *, json: bool) -> None:
    """Print the progress, counts and problems of a run."""
    counts = ledger.counts()
    if json:
        write_json(counts)
        return
    rows = [("shards", f"{_bar(counts['done'], counts['shards'])} {counts['done']:,} of {counts['shards']:,}")]
    rows += [(name, f"{counts[name]:,}") for name in _SHOWN if counts[name]]
    rows += [(f"problem {code}", f"{count:,}") for code, count in counts["problems"].items()]
    rows += [("files ignored", f"{counts['files_ignored']:,}")] if counts["files_ignored"] else []
    write_lines(rows)
    for each in ledger.quarantined.values():
        tell(f"shard {each.shard:06d} was quarantined: {each.code}: {each.what}")
    for name in counts["files_failed"]:
        tell(f"{name} could not be read completely")


def _leave(ledger: Ledger) -> None:
    """Exit with an error status if anything was skipped, or if an unexpected error (bug) occurred."""
    counts = ledger.counts()
    if counts["bugs"]:
        raise typer.Exit(_BUG)
    if ledger.quarantined or counts["problems"] or counts["files_failed"]:
        raise typer.Exit(FAILED)


def _bar(done: int, total: int) -> str:
    """Return a text progress bar.

    >>> _bar(1, 2)
    '[####################....................]'
    """
    filled = _BAR * done // total if total else 0
    return f"[{'#' * filled}{'.' * (_BAR - filled)}]"
