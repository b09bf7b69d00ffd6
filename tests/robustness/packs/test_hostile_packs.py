"""Tests that some hostile packs are rejected; `python -m benchmarks pack` tries all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.packs import open_pack
from tests.robustness.packs.hostile_packs import (
    Hostile,
    Made,
    count_refused,
    hostile_packs,
    packs_with_outside_models,
    small_pack,
)


@pytest.mark.slow
def test_rejects_hostile_packs(tmp_path: Path) -> None:
    good = small_pack(tmp_path / "good")
    cases = hostile_packs(good)
    assert len(cases) >= 100
    some = cases[::11]
    assert count_refused(some, good, tmp_path / "run") == len(some)


def test_detects_accepted_hostile_pack(tmp_path: Path, capsys: object) -> None:
    good = small_pack(tmp_path / "good")
    assert count_refused([Hostile("a sound pack", good.read_bytes())], good, tmp_path / "run") == 0


def test_rejects_models_outside_the_pack_before_opening_anything(tmp_path: Path) -> None:
    good, path = small_pack(tmp_path / "good"), tmp_path / "bad.onymp"
    for case in packs_with_outside_models(Made(good)):
        path.write_bytes(case.data)
        with pytest.raises(InputError) as caught:
            open_pack(path)
        assert caught.value.code in ("pack-malformed", "archive-path"), case.what
