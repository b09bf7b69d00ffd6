"""The log and the clock of a training that was stopped are those of one training."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from onym.train import callbacks
from onym.train.callbacks import Clock, LogFile


class Time:
    """A clock that is set by hand."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(callbacks, "time", made)
    return made


def test_the_clock_counts_from_step_to_step(time: Time) -> None:
    clock = Clock()
    for now in (103.0, 110.0):
        time.now = now
        clock.on_step_end(None, None, None)
    assert clock.seconds == 10.0


def test_the_clock_goes_on_where_it_was_and_the_time_between_is_not_counted(time: Time) -> None:
    first = Clock()
    time.now = 107.0
    first.on_step_end(None, None, None)
    kept = json.loads(json.dumps(first.state()))
    time.now = 5000.0
    second = Clock.from_state(kept)
    time.now = 5002.0
    second.on_step_end(None, None, None)
    assert second.seconds == 9.0


def test_the_log_is_the_history_as_it_is(tmp_path: Path) -> None:
    log, state = LogFile(tmp_path), SimpleNamespace(is_world_process_zero=True, log_history=[{"step": 1}, {"step": 2}])
    log.on_log(None, state, None)
    state.log_history = [{"step": 1}]
    log.on_log(None, state, None)
    assert (tmp_path / "log.jsonl").read_text() == '{"step": 1}\n'
    state.is_world_process_zero, state.log_history = False, []
    log.on_log(None, state, None)
    assert (tmp_path / "log.jsonl").read_text() == '{"step": 1}\n'
