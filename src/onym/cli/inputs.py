"""Helpers shared by commands that link or read corpora: inputs, problem files, concept filters, and the choice of pipeline."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from onym.cli.console import estimate_remaining_seconds, tell
from onym.cli.help import MORE
from onym.errors import format_id

if TYPE_CHECKING:
    from rich.progress import Progress

    from onym.cli.console import Lines
    from onym.corpora.base import Item, ReadOptions
    from onym.corpora.problems import ProblemLog
    from onym.corpora.reading import PlannedFile, Reading
    from onym.kb.ranking import ConceptFilter
    from onym.store.files.source import Source
    from onym.types import Problem

FAILED = 5
"""Exit status of a run that finished but skipped a file, document or mention."""
FOLLOW_LINKS = typer.Option(
    "--follow-links", rich_help_panel=MORE, help="Follow symbolic links that point outside an input folder."
)
TEXT_COLUMN = typer.Option(
    "--text-column",
    rich_help_panel=MORE,
    help="Tables and JSON: column or key with text; may be repeated. By default those named text, abstract, note and the like.",
)
ID_COLUMN = typer.Option(
    "--id-column",
    rich_help_panel=MORE,
    help="Tables and JSON: column or key with the id of a document. By default one named id, pmid, note_id and the like.",
)
ENCODING = typer.Option(
    "--encoding",
    rich_help_panel=MORE,
    help="Encoding of text files, such as cp850. By default UTF-8; UTF-16 and Windows-1252 are recognised.",
)
PROBLEMS = typer.Option(
    "--problems",
    rich_help_panel=MORE,
    help="Write problems to this file, as JSON lines. By default OUTPUT.problems.jsonl; without an output file they are listed "
    "on stderr.",
)
MAX_PROBLEMS = typer.Option(
    "--max-problems",
    rich_help_panel=MORE,
    metavar="N|P%",
    help="Stop if there are more problems than this number, or than this percentage of the documents.",
)
_STEP = 100  # number of documents between two updates of the progress bar
_SHOWN = 20  # maximum number of files listed per state (failed, ignored)
_FILE_NAME = re.compile(
    r".*\.(?:txt|text|[tc]sv|jsonl?|ndjson|xml|html?|xlsx?|parquet|nbib|ris|ann|pubtator|pdf|docx?|rtf|odt|md|gz|zst|zip|tar|tgz)",
    re.IGNORECASE,
)
"""Argument with spaces that ends like the name of a file."""


@dataclass(frozen=True)
class OpenInputs:
    """Opened sources. `folders` are the paths of folders; `are_texts` is true if all sources are texts of the command line."""

    sources: Sequence[Source]
    folders: Sequence[str]
    are_texts: bool

    def read(self, format: str = "", options: ReadOptions | None = None) -> Reading:  # noqa: A002 - the name of the option
        """Return a reader of all sources, and say what the folders contain.

        Command-line texts are read as plain text unless a format is given.
        """
        from onym.corpora.base import NO_OPTIONS
        from onym.corpora.reading import Group, Reading

        if self.are_texts and not format:
            return Reading.of_groups([Group("text", source.files) for source in self.sources])
        reading = Reading(self.sources, format, options or NO_OPTIONS)
        if self.folders:
            tell(f"Reading {', '.join(self.folders)}: {describe_files(reading.files)}.")
        return reading


@contextmanager
def open_sources(names: Sequence[str], *, follow_links: bool = False) -> Iterator[OpenInputs]:
    """Open command-line arguments: paths, `-` for standard input, or literal texts.

    If there are several sources, file names are prefixed with the path of their source.
    """
    from onym.store.files.source import Source, spool

    def open_one(name: str, number: int) -> Source:
        if number in texts:
            return _text_source(name, number)
        is_stdin = name == "-"
        source = stack.enter_context(spool(_standard_input())) if is_stdin else Source.open(name, follow_links=follow_links)
        return source if len(names) == 1 else source.under(name)

    texts = {number for number, name in enumerate(names, 1) if name != "-" and _is_text(name, number)}
    folders = [name for name in names if _exists(name) and Path(name).is_dir()]
    with ExitStack() as stack:
        sources = [open_one(name, number) for number, name in enumerate(names, 1)]
        yield OpenInputs(sources, folders, len(texts) == len(names))


def count_items(reading: Reading, bar: Progress | Lines) -> Iterator[Item]:
    """Yield documents and problems, and update the progress bar. The fraction of bytes read gives the time left."""
    began, share = time.monotonic(), 0.0
    for number, item in enumerate(reading):
        if number % _STEP == 0:
            share = max(share, reading.share)  # `reading.share` can drop between files, but the bar must not move back
            bar.update(bar.task_ids[0], completed=number, left=estimate_remaining_seconds(share, time.monotonic() - began))
        yield item


def open_log(output: Path, problems: Path | None, bound: str, *, force: bool) -> ProblemLog:
    """Open the problem file of a run: --problems, else beside OUTPUT. If the run prints, problems are listed on stderr."""
    from onym.corpora.problems import MaxProblems, ProblemLog
    from onym.store.output import STDOUT

    beside = None if output == STDOUT else output.with_name(f"{output.name}.problems.jsonl")
    maximum = MaxProblems.parse(bound)
    return ProblemLog(problems or beside, maximum, show=report_problem, always=problems is not None, force=force)


def report_log(log: ProblemLog) -> None:
    """Print the number of problems that are in a file, and of those that were not listed."""
    if log.path and log.count:
        tell(f"problems: {log.count:,}, in {log.path}")
    elif log.hidden:
        tell(f"problems: {log.hidden:,} more; --problems FILE writes all")


def report_problem(problem: Problem) -> None:
    """Print a problem of a document on stderr: code, place and what is wrong."""
    place = problem.where or problem.source or f"document {format_id(problem.document_id)}"
    tell(f"problem: [{problem.code}] {problem.what}, {place}")


def describe_files(files: Sequence[PlannedFile]) -> str:
    """Return the number of files by format, and of files that are not read.

    >>> from onym.corpora.reading import PlannedFile
    >>> describe_files([PlannedFile("a.txt", "read", "text"), PlannedFile("b.bin", "failed"), PlannedFile(".c", "ignored")])
    '3 files (1 text, 1 failed, 1 ignored)'
    """
    counts = Counter(file.format if file.state == "read" else file.state for file in files)
    return f"{len(files):,} file{'s' * (len(files) != 1)} ({', '.join(f'{count:,} {what}' for what, count in counts.items())})"


def file_rows(files: Sequence[PlannedFile]) -> list[tuple[str, str]]:
    """Return (label, count) rows: the number of files and, if not 0, of ignored and failed files."""
    from onym.corpora.reading import state_counts

    counts = state_counts(files)
    rows = [("files", len(files)), ("ignored", counts["ignored"]), ("failed", counts["failed"])]
    return [(what, f"{count:,}") for what, count in rows if count or what == "files"]


def files_as_dict(files: Sequence[PlannedFile]) -> dict[str, Any]:
    """Return the file counts and the list of all files, for JSON output."""
    from onym.corpora.reading import state_counts

    counts = {f"files_{state}": count for state, count in state_counts(files).items()}
    return {"files": len(files), **counts, "inputs": [asdict(file) for file in files]}


def report_files(files: Sequence[PlannedFile]) -> None:
    """List on stderr the columns that were read, and the files that were not, with the reason (the first 20 of each state)."""
    tables = [file for file in files if file.text_columns and file.state == "read"]
    for file in tables[:_SHOWN]:
        ids = f"ids from {file.id_column}" if file.id_column else "rows are numbered, as no --id-column is given"
        tell(f"{file.name}: text from {', '.join(file.text_columns)}; {ids}")
    for state in ("failed", "ignored"):
        own = [file for file in files if file.state == state]
        for file in own[:_SHOWN]:
            tell(f"{state}: {file.name}: {f'{file.code}: ' if file.code else ''}{file.why}")
        if len(own) > _SHOWN:
            tell(f"{state}: {len(own) - _SHOWN:,} more; --json lists all")


def has_failed_file(files: Sequence[PlannedFile]) -> bool:
    """Return whether any file failed."""
    return any(file.state == "failed" for file in files)


def filter_of(context: typer.Context, concepts: Path | None = None) -> ConceptFilter:
    """Return the concepts selected by --concepts and the options of `FILTER_OPTIONS`, which the command names `filter`."""
    from onym.kb.ranking import ConceptFilter

    return ConceptFilter(concepts=tuple(ids_in(concepts)) if concepts else (), **context.obj["filter"])


def ids_in(path: Path) -> Iterator[str]:
    """Yield the non-empty lines of a file."""
    from onym.store.files.lines import iter_blocks
    from onym.store.files.source import InputFile

    lines = (line for block in iter_blocks(InputFile.from_path(path)) for line in block.data.decode().splitlines())
    return (line.strip() for line in lines if line.strip())


def _is_text(name: str, number: int) -> bool:
    """Return whether an argument is a literal text: it neither exists as a path nor looks like one that was mistyped.

    A single word could be a mistyped folder, so its number among the arguments is printed: it is linked, but not in silence.
    """
    if _exists(name):
        return False
    if any(letter.isspace() for letter in name):
        return not _FILE_NAME.fullmatch(name)
    looks_like_a_path = bool(Path(name).suffix) or any(letter in name for letter in "/\\*?")
    if not looks_like_a_path:
        tell(f"Argument {number} is neither a file nor a folder; it is linked as text.")
    return not looks_like_a_path


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a path, or contains a null character
        return False


def _text_source(text: str, number: int) -> Source:
    from onym.store.files.source import InputFile, Source

    return Source.of_files("texts", [InputFile.from_bytes(f"{number}.txt", text.encode("utf-8", "replace"))])


def _standard_input() -> BinaryIO:
    from onym.errors import InputError

    if sys.stdin is None:
        raise InputError("input-missing", "standard input is closed", fix="give a file, or pipe one into the command")
    return sys.stdin.buffer


def resolve_kb(value: Path | None) -> Path | None:
    """Return the folder of a knowledge base. `value` is that folder, or a pipeline (folder, pack or name)."""
    from onym.packs.locate import locate_kb

    return None if value is None else locate_kb(value)
