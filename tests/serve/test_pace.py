"""The pace of linker processes: what is expected after batches of all sizes."""

from __future__ import annotations

import pytest

from onym.serve.pace import Pace


def test_nothing_is_expected_before_some_batches_were_heard_of() -> None:
    pace = Pace()
    for _ in range(4):
        pace.hear(jobs=1, characters=5, seconds=9.0)
    assert pace.seconds(jobs=100, characters=100_000) == 0.0
    pace.hear(jobs=1, characters=5, seconds=9.0)
    assert pace.seconds(jobs=100, characters=100_000) > 0.0


def test_a_short_job_that_took_long_does_not_slow_down_what_is_expected() -> None:
    pace = Pace()
    for _ in range(20):
        pace.hear(jobs=10, characters=30_000, seconds=1.0)
    pace.hear(jobs=1, characters=1, seconds=1.0)  # ten thousand times as long for a character
    assert pace.seconds(jobs=10, characters=30_000) < 1.5


def test_the_newest_batches_count_more_than_old_ones() -> None:
    pace = Pace()
    for seconds in (10.0, 1.0):
        for _ in range(50):
            pace.hear(jobs=1, characters=10_000, seconds=seconds)
    assert pace.seconds(jobs=1, characters=10_000) == pytest.approx(1.0, abs=0.1)
