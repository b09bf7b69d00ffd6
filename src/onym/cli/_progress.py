"""Progress of a long command: how much is done, how fast, and how long the rest takes."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

_LINE_SECONDS = 60.0  # between two lines


class Lines:
    """A line a minute on stderr, where that is no terminal, so that a log shows that work goes on."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self.task_ids: list[TaskID] = [0]  # type: ignore[list-item]
        self._what, self._done, self._total = what, 0.0, float(total or 0)
        self._left: float | None = None
        self._began = self._last = time.monotonic()

    def update(
        self,
        task_id: TaskID,  # noqa: ARG002 - as rich has it
        *,
        description: str | None = None,
        completed: float | None = None,
        total: float | None = None,
        left: float | None = None,
    ) -> None:
        """Note how much is done, and `left`, the seconds left if the total does not say it; print a line once a minute."""
        self._what = description or self._what
        self._done = self._done if completed is None else completed
        self._total = self._total if total is None else total
        self._left = left
        now = time.monotonic()
        if now - self._last >= _LINE_SECONDS and sys.stderr is not None:
            self._last = now
            sys.stderr.write(line_of(self._what, self._done, self._total, now - self._began, self._left) + "\n")
            sys.stderr.flush()


def bar_on(console: Console, what: str, total: int | None = None) -> Progress:
    """Return a bar for a terminal."""
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
        """How many are done in a second."""

        def render(self, task: Task) -> Text:
            return Text(rate_of(task.completed, task.elapsed or 0.0), style="progress.data.speed")

    class LeftColumn(TimeRemainingColumn):
        """How long the rest takes, also where it is known by other means than a total."""

        def render(self, task: Task) -> Text:
            left = task.fields.get("left")
            return super().render(task) if left is None else Text(_time(left), style="progress.remaining")

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), RateColumn())
    bar = Progress(*columns, TimeElapsedColumn(), LeftColumn(), console=console, transient=True)
    bar.add_task(what, total=total)
    return bar


def rate_of(done: float, seconds: float) -> str:
    """Return how many are done in a second, in few digits.

    >>> rate_of(1_200, 10), rate_of(3, 10), rate_of(0, 10)
    ('120/s', '0.3/s', '')
    """
    rate = done / seconds if seconds else 0.0
    return "" if not rate else f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def left_of(share: float, seconds: float) -> float | None:
    """Return how many seconds the rest takes, if a share is done after so many; None where nothing is done.

    >>> left_of(0.25, 60.0), left_of(0.0, 60.0)
    (180.0, None)
    """
    return seconds * (1 - share) / share if share else None


def line_of(what: str, done: float, total: float, seconds: float, left: float | None = None) -> str:
    """Return a line of a log.

    >>> line_of("mapping", 600, 2_000, 60.0), line_of("linking", 0, 0, 60.0), line_of("linking", 600, 0, 60.0, 30.0)
    ('mapping: 600 of 2,000, 10/s, 0:02:20 left', 'linking: 0', 'linking: 600, 10/s, 0:00:30 left')
    """
    of = f" of {total:,.0f}" if total else ""
    left = left_of(done / total, seconds) if left is None and total else left
    rest = "" if left is None else f"{_time(left)} left"
    return ", ".join(part for part in (f"{what}: {done:,.0f}{of}", rate_of(done, seconds), rest) if part)


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
