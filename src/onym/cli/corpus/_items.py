"""What the commands that read corpora share: items that a progress bar counts, and what became of the files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from onym.cli.console import stderr

if TYPE_CHECKING:
    from rich.progress import Progress

    from onym.cli._progress import Lines
    from onym.corpora.base import Item
    from onym.corpora.problems import ProblemLog
    from onym.corpora.reading import PlannedFile, Reading

FAILED = 5
"""The exit status of a run that finished, but left something out: a file, a document or a mention."""
FOLLOW_LINKS = typer.Option("--follow-links", help="Follow symbolic links that lead out of a folder.")
PROBLEMS = typer.Option(
    "--problems", help="Write problems to this file, as JSON lines. By default OUTPUT.problems.jsonl, or stdout.problems.jsonl."
)
MAX_PROBLEMS = typer.Option(
    "--max-problems", metavar="N|P%", help="Stop if there are more problems than this number, or this share of the documents."
)
_STEP = 100
_SHOWN = 20


def counted(reading: Reading, bar: Progress | Lines) -> Iterator[Item]:
    """Yield documents and problems, moving the bar on; the share of the files that is read tells how long the rest takes."""
    from onym.cli._progress import left_of

    began, share = time.monotonic(), 0.0
    for number, item in enumerate(reading):
        if number % _STEP == 0:
            share = max(share, reading.share)  # which is less while the last bytes of a file are at work
            bar.update(bar.task_ids[0], completed=number, left=left_of(share, time.monotonic() - began))
        yield item


def open_log(output: Path, problems: Path | None, bound: str, *, force: bool) -> ProblemLog:
    """Open the file of problems of a run."""
    from onym.corpora.problems import MaxProblems, ProblemLog
    from onym.store.output import STDOUT

    name = "stdout" if output == STDOUT else output.name
    path = problems or output.with_name(f"{name}.problems.jsonl")
    return ProblemLog(path, MaxProblems.parsed(bound), always=problems is not None, force=force)


def report_log(log: ProblemLog) -> None:
    """Tell where the problems are, if there are any."""
    if log.count:
        tell(f"problems: {log.count:,}, in {log.path}")


def file_rows(files: Sequence[PlannedFile]) -> list[tuple[str, str]]:
    """Return how many files there are, and how many of them were ignored or failed, if any."""
    from onym.corpora.reading import state_counts

    counts = state_counts(files)
    rows = [("files", len(files)), ("ignored", counts["ignored"]), ("failed", counts["failed"])]
    return [(what, f"{count:,}") for what, count in rows if count or what == "files"]


def files_as_dict(files: Sequence[PlannedFile]) -> dict[str, Any]:
    """Return the same, and every file, for machines."""
    from onym.corpora.reading import state_counts

    counts = {f"files_{state}": count for state, count in state_counts(files).items()}
    return {"files": len(files), **counts, "inputs": [asdict(file) for file in files]}


def report_files(files: Sequence[PlannedFile]) -> None:
    """Tell on stderr which files were not read, and why; of very many the first."""
    for state in ("failed", "ignored"):
        own = [file for file in files if file.state == state]
        for file in own[:_SHOWN]:
            tell(f"{state}: {file.name}: {f'{file.code}: ' if file.code else ''}{file.why}")
        if len(own) > _SHOWN:
            tell(f"{state}: {len(own) - _SHOWN:,} more; --json lists all")


def any_failed(files: Sequence[PlannedFile]) -> bool:
    """Tell whether a file failed."""
    return any(file.state == "failed" for file in files)


def tell(line: str) -> None:
    """Tell a person something on stderr."""
    from onym.errors import printable

    stderr().print(printable(line), markup=False, highlight=False, soft_wrap=True)
