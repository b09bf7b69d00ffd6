"""What commands share in talking to people and to machines."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import typer

from onym.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

JSON = typer.Option("--json", help="Print JSON, for machines.")


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


def write_json(value: Any) -> None:
    """Print one value as JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def write_lines(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows, control characters escaped: in aligned columns on a terminal, else separated by tabs."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        for row in rows:
            typer.echo("\t".join(printable(cell) for cell in row))
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for row in rows:
        table.add_row(*(escape(printable(cell)) for cell in row))
    console.print(table)


def write_tables(tables: Iterable[Table]) -> None:
    """Print tables of rich."""
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(table)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Progress]:
    """Show a progress bar on stderr while the block runs, if that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = stderr()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    bar.add_task(what, total=total)
    with bar if console.is_terminal else nullcontext():
        yield bar


def shown_on(bar: Progress) -> Callable[[str, int], None]:
    """Return what a library tells its progress to: it shows what is being done, and how much of it is."""
    return lambda what, done: bar.update(bar.task_ids[0], description=what, completed=done)
