"""Progress of a long command."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from onym.cli._progress import Lines, bar_on


def test_a_line_a_minute_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("onym.cli._progress.time.monotonic", lambda: clock[0])
    bar = Lines("opening", 100)
    bar.update(bar.task_ids[0], description="linking", total=400)
    for number in range(1, 131):
        clock[0] = float(number)
        bar.update(bar.task_ids[0], completed=2 * number)
    assert capsys.readouterr().err.splitlines() == [
        "linking: 120 of 400, 2.0/s, 0:02:20 left",
        "linking: 240 of 400, 2.0/s, 0:01:20 left",
    ]


def test_a_terminal_has_a_bar_with_rate_and_time_left() -> None:
    out = io.StringIO()
    with bar_on(Console(file=out, force_terminal=True, width=100), "mapping", 400) as bar:
        bar.update(bar.task_ids[0], completed=100)
        bar.refresh()
    assert "mapping" in out.getvalue()
    assert "100/400" in out.getvalue()
    assert "/s" in out.getvalue()
