"""Console output of commands: plain lines, tables, JSON, and progress with rate and time left."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

import typer

from onym.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.table import Table

JSON = typer.Option("--json", help="Print JSON.")
_LINE_SECONDS = 30.0  # seconds between two progress lines in a log
_MESSAGE_SECONDS = 8.0  # seconds without a message after which a terminal says what is still running


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def stderr() -> Console:
    """Return a rich console on stderr."""
    from rich.console import Console

    return Console(stderr=True)


def tell(line: str) -> None:
    """Print a message on stderr."""
    stderr().print(printable(line), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def log_to_stderr(name: str) -> Iterator[None]:
    """Print the messages of a logger, such as `onym.train`, on stderr during the block. Distributed runs: only rank 0.

    While a step takes long, its message is repeated with the time that it has taken.
    """
    if os.environ.get("RANK", "0") != "0":
        yield
        return
    log = logging.getLogger(name)
    level = log.level
    with Lines("starting", seconds=_MESSAGE_SECONDS if _is_terminal(sys.stderr) else _LINE_SECONDS) as lines:
        handler = _Messages(lines)
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.setLevel(level)


class _Messages(logging.StreamHandler[TextIO]):
    """Prints messages on stderr; each begins a step of the progress, unless the step shows a bar of its own (`has_bar`)."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self._lines.begin("" if getattr(record, "has_bar", False) else record.getMessage())


@contextmanager
def _printing(*, is_stderr: bool = False) -> Iterator[None]:
    """Raise ConfigError if the stream is closed or cannot be written."""
    from onym.errors import ConfigError
    from onym.store.output import writable

    if sys.stdout is None and not is_stderr:
        raise ConfigError("output-failed", "standard output is closed", fix="leave it open, or redirect it to a file")
    with writable(Path("standard error" if is_stderr else "standard output")):
        yield
        if not is_stderr:
            sys.stdout.flush()


def write_plain(text: str, *, to_stderr: bool = False) -> None:
    """Print text without formatting."""
    with _printing(is_stderr=to_stderr):
        typer.echo(text, err=to_stderr)


def write_json(value: Any, *, to_stderr: bool = False) -> None:
    """Print one value as JSON. `to_stderr` is for commands that write their output file to stdout."""
    stream = sys.stderr if to_stderr else sys.stdout
    has_all_letters = "utf" in (getattr(stream, "encoding", None) or "utf-8").lower()
    write_plain(json.dumps(value, ensure_ascii=not has_all_letters), to_stderr=to_stderr)


def write_lines(rows: Sequence[tuple[str, ...]], *, to_stderr: bool = False) -> None:
    """Print rows with control characters escaped: aligned columns on a terminal, else tab-separated."""
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


def write_table(header: Sequence[str], rows: Sequence[Sequence[str]], unwrapped: Collection[str] = ()) -> None:
    """Print a table in the width of the terminal, with control characters escaped. The columns `unwrapped` keep their width."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, show_header=bool(header), pad_edge=False, header_style="bold")
    for at, name in enumerate(header or [""]):
        width = max(map(len, [name, *(row[at] for row in rows)])) if name in unwrapped else None
        table.add_column(name, overflow="fold", min_width=width)
    for row in rows:
        table.add_row(*(escape(printable(cell)) for cell in row))
    write_tables([table])


def write_tables(tables: Iterable[Table]) -> None:
    """Print rich tables."""
    from rich.console import Console

    console = Console()
    with _printing():
        for table in tables:
            console.print(table)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Progress | Lines]:
    """Show progress with rate and time left on stderr: a bar on a terminal, else a line every half minute."""
    if not _is_terminal(sys.stderr):
        with Lines(what, total) as lines:
            yield lines
        return
    with bar_on(stderr(), what, total) as bar:
        yield bar


def progress_callback(bar: Progress | Lines) -> Callable[[str, int], None]:
    """Return a progress callback that shows the current step and the number of items done."""
    return lambda what, done: bar.update(bar.task_ids[0], description=what, completed=done)


class Lines:
    """Progress for log files: a line on stderr every half minute, also while a single step takes minutes.

    A context manager: its thread prints the lines that are due while nothing is recorded.
    """

    def __init__(self, what: str, total: int | None = None, *, seconds: float = _LINE_SECONDS) -> None:
        self.task_ids: list[TaskID] = [0]  # type: ignore[list-item]
        self._seconds, self._ended, self._lock = seconds, threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._repeat, name="onym-progress", daemon=True)
        self.begin(what, total)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def begin(self, what: str, total: int | None = None) -> None:
        """Begin another step; the next line is printed if it takes long. Nothing is printed for a step without a name."""
        self._what, self._done, self._total = what, 0.0, float(total or 0)
        self._left: float | None = None
        self._began = self._last = time.monotonic()

    def update(
        self,
        task_id: TaskID,  # noqa: ARG002 - same signature as rich
        *,
        description: str | None = None,
        completed: float | None = None,
        total: float | None = None,
        left: float | None = None,
    ) -> None:
        """Record progress, and print a line if it is due. `left` (seconds) overrides the estimate from the total."""
        self._what = description or self._what
        self._done = self._done if completed is None else completed
        self._total = self._total if total is None else total
        self._left = left
        self._print_if_due()

    def _repeat(self) -> None:
        while not self._ended.wait(max(0.0, self._last + self._seconds - time.monotonic())):
            self._print_if_due()

    def _print_if_due(self) -> None:
        """Print a line if `seconds` have passed since the last line, or since the step began."""
        with self._lock, suppress(OSError, ValueError):  # a closed stderr must not end the run
            now = time.monotonic()
            if self._what and now - self._last >= self._seconds and sys.stderr is not None:
                self._last = now
                sys.stderr.write(line_of(self._what, self._done, self._total, now - self._began, self._left) + "\n")
                sys.stderr.flush()


def bar_on(console: Console, what: str, total: int | None = None) -> Progress:
    """Return a rich progress bar."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Items per second."""

        def render(self, task: Task) -> Text:
            return Text(rate_of(task.completed, task.elapsed or 0.0), style="progress.data.speed")

    class LeftColumn(TimeRemainingColumn):
        """Time left: the `left` field if given, else estimated from the total."""

        def render(self, task: Task) -> Text:
            left = task.fields.get("left")
            return super().render(task) if left is None else Text(_time(left), style="progress.remaining")

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), RateColumn())
    bar = Progress(*columns, TimeElapsedColumn(), LeftColumn(), console=console, transient=True)
    bar.add_task(what, total=total)
    return bar


def rate_of(done: float, seconds: float) -> str:
    """Format items per second; empty if no item is done yet.

    >>> rate_of(1_200, 10), rate_of(3, 10), rate_of(0, 10)
    ('120/s', '0.3/s', '')
    """
    rate = done / seconds if seconds else 0.0
    return "" if not rate else f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def estimate_remaining_seconds(share: float, seconds: float) -> float | None:
    """Estimate the seconds left from the fraction done and the seconds elapsed; None if nothing is done yet.

    >>> estimate_remaining_seconds(0.25, 60.0), estimate_remaining_seconds(0.0, 60.0)
    (180.0, None)
    """
    return seconds * (1 - share) / share if share else None


def line_of(what: str, done: float, total: float, seconds: float, left: float | None = None) -> str:
    """Return a progress line for a log; with nothing counted yet, the time that the step has taken.

    >>> line_of("mapping", 600, 2_000, 60.0), line_of("linking", 0, 0, 60.0), line_of("linking", 600, 0, 60.0, 30.0)
    ('mapping: 600 of 2,000, 10/s, 0:02:20 left', 'linking: 0:01:00 so far', 'linking: 600, 10/s, 0:00:30 left')
    """
    if not done:
        return f"{what}: {_time(seconds)} so far"
    of = f" of {total:,.0f}" if total else ""
    left = estimate_remaining_seconds(done / total, seconds) if left is None and total else left
    rest = "" if left is None else f"{_time(left)} left"
    return ", ".join(part for part in (f"{what}: {done:,.0f}{of}", rate_of(done, seconds), rest) if part)


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
