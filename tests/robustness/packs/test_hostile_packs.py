"""Packs made to do harm; all of them are judged by `python -m benchmarks pack`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.robustness.packs.hostile_packs import Hostile, hostile_packs, refused, small_pack


@pytest.mark.slow
def test_hostile_packs_are_refused(tmp_path: Path) -> None:
    good = small_pack(tmp_path / "good")
    cases = hostile_packs(good)
    assert len(cases) >= 100
    some = cases[::11]
    assert refused(some, good, tmp_path / "run") == len(some)


def test_one_that_is_not_refused_is_seen(tmp_path: Path, capsys: object) -> None:
    good = small_pack(tmp_path / "good")
    assert refused([Hostile("a sound pack", good.read_bytes())], good, tmp_path / "run") == 0
