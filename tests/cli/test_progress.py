"""Tests of the progress that long commands show: a bar in a terminal, otherwise a line every half minute."""

from __future__ import annotations

import io
import logging
import time

import pytest
from rich.console import Console

from onym.cli.console import Lines, bar_on, log_to_stderr
from onym.cli.inputs import count_items
from onym.corpora.reading import Reading
from onym.store.files.source import InputFile, Source


def test_prints_a_line_every_half_minute_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("onym.cli.console.time.monotonic", lambda: clock[0])
    bar = Lines("opening", 100)
    bar.update(bar.task_ids[0], description="linking", total=400)
    for number in range(1, 71):
        clock[0] = float(number)
        bar.update(bar.task_ids[0], completed=2 * number)
    assert capsys.readouterr().err.splitlines() == [
        "linking: 60 of 400, 2.0/s, 0:02:50 left",
        "linking: 120 of 400, 2.0/s, 0:02:20 left",
    ]


def test_a_step_that_records_nothing_is_not_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines("calibrating", seconds=0.02):
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert set(lines) == {"calibrating: 0:00:00 so far"}


def test_messages_are_repeated_while_their_step_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("onym.cli.console._LINE_SECONDS", 0.02)
    with log_to_stderr("onym.train"):
        logging.getLogger("onym.train").info("preparing the evaluation on dev")
        time.sleep(0.2)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "preparing the evaluation on dev"
    assert set(rest) == {"preparing the evaluation on dev: 0:00:00 so far"}


def test_nothing_is_repeated_beside_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("onym.cli.console._LINE_SECONDS", 0.02)
    with log_to_stderr("onym.train"):
        logging.getLogger("onym.train").info("training, 9 steps", extra={"has_bar": True})
        time.sleep(0.2)
    assert capsys.readouterr().err == "training, 9 steps\n"


def test_a_closed_stderr_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    bar = Lines("linking", seconds=0)
    bar.update(bar.task_ids[0], completed=1)


def test_terminal_shows_a_bar_with_rate_and_time_left() -> None:
    out = io.StringIO()
    with bar_on(Console(file=out, force_terminal=True, width=100), "mapping", 400) as bar:
        bar.update(bar.task_ids[0], completed=100)
        bar.refresh()
    assert "mapping" in out.getvalue()
    assert "100/400" in out.getvalue()
    assert "/s" in out.getvalue()


def test_time_left_is_estimated_from_bytes_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    files = [InputFile.from_bytes(f"{number:03}.txt", b"High fever") for number in range(400)]
    for _ in count_items(Reading([Source.of_files("notes", files)]), Lines("linking")):
        clock[0] += 1.0
    assert capsys.readouterr().err.splitlines() == [
        "linking: 100, 1.0/s, 0:05:00 left",
        "linking: 200, 1.0/s, 0:03:20 left",
        "linking: 300, 1.0/s, 0:01:40 left",
    ]


def test_terminal_shows_time_left_without_a_total() -> None:
    out = io.StringIO()
    with bar_on(Console(file=out, force_terminal=True, width=100), "linking") as bar:
        bar.update(bar.task_ids[0], completed=100, left=90.0)
        bar.refresh()
    assert "0:01:30" in out.getvalue()
