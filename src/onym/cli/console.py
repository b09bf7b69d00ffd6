"""What commands share in talking to people and to machines."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from onym.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from onym.cli._progress import Lines

JSON = typer.Option("--json", help="Print JSON, for machines.")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def stderr() -> Console:
    """Return the console for people."""
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def log_to_stderr(room: str) -> Iterator[None]:
    """Show the log of a room, such as `onym.train`, on stderr while the block runs; of several processes the first one does."""
    log, handler = logging.getLogger(room), logging.StreamHandler()
    level = log.level
    if os.environ.get("RANK", "0") == "0":
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@contextmanager
def _printing(*, is_stderr: bool = False) -> Iterator[None]:
    """Turn a standard output that is closed or full into an error of ours."""
    from onym.errors import ConfigError
    from onym.store.output import writable

    if sys.stdout is None and not is_stderr:
        raise ConfigError("output-failed", "standard output is closed", fix="leave it open, or send it to a file")
    with writable(Path("standard error" if is_stderr else "standard output")):
        yield
        if not is_stderr:
            sys.stdout.flush()


def write_plain(text: str, *, to_stderr: bool = False) -> None:
    """Print lines."""
    with _printing(is_stderr=to_stderr):
        typer.echo(text, err=to_stderr)


def write_json(value: Any, *, to_stderr: bool = False) -> None:
    """Print one value as JSON; it goes to stderr where stdout is taken by an output."""
    stream = sys.stderr if to_stderr else sys.stdout
    has_all_letters = "utf" in (getattr(stream, "encoding", None) or "utf-8").lower()
    write_plain(json.dumps(value, ensure_ascii=not has_all_letters), to_stderr=to_stderr)


def write_lines(rows: Sequence[tuple[str, ...]], *, to_stderr: bool = False) -> None:
    """Print rows, control characters escaped: in aligned columns on a terminal, else separated by tabs."""
    if not _is_terminal(sys.stderr if to_stderr else sys.stdout):
        if rows:
            write_plain("\n".join("\t".join(printable(cell) for cell in row) for row in rows), to_stderr=to_stderr)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(stderr=to_stderr)
    table = Table(box=None, show_header=False, pad_edge=False)
    for row in rows:
        table.add_row(*(escape(printable(cell)) for cell in row))
    with _printing(is_stderr=to_stderr):
        console.print(table)


def write_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with a header, control characters escaped."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, show_header=bool(header), pad_edge=False, header_style="bold")
    for name in header or [""]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(escape(printable(cell)) for cell in row))
    write_tables([table])


def write_tables(tables: Iterable[Table]) -> None:
    """Print tables of rich."""
    from rich.console import Console

    console = Console()
    with _printing():
        for table in tables:
            console.print(table)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Progress | Lines]:
    """Show progress on stderr while the block runs, with rate and time left: a bar on a terminal, else a line a minute."""
    from onym.cli._progress import Lines, bar_on

    if not _is_terminal(sys.stderr):
        yield Lines(what, total)
        return
    with bar_on(stderr(), what, total) as bar:
        yield bar


def shown_on(bar: Progress | Lines) -> Callable[[str, int], None]:
    """Return what a library tells its progress to: it shows what is being done, and how much of it is."""
    return lambda what, done: bar.update(bar.task_ids[0], description=what, completed=done)
