"""Conformal sets."""

from __future__ import annotations

import numpy as np
import pytest

from onym.calibrate.sets import ConformalSets
from onym.errors import InputError


def test_sets_hold_the_right_candidate_as_often_as_is_wished() -> None:
    generator = np.random.default_rng(0)
    right = generator.beta(4, 1, size=4_000)
    types = ["Disease" if number % 2 else "Chemical" for number in range(len(right))]
    right[np.array(types) == "Chemical"] **= 3  # harder
    sets = ConformalSets.fit(0.9, right[:2_000], types[:2_000])
    assert sets.thresholds["Chemical"] < sets.thresholds["Disease"]
    for name in ("Disease", "Chemical"):
        covered = [
            value >= sets.thresholds[name] for value, kind in zip(right[2_000:], types[2_000:], strict=True) if kind == name
        ]
        assert 0.87 < np.mean(covered) < 0.93
        assert sets.is_reachable(name)


def test_candidates_impose_a_ceiling() -> None:
    right = np.array([0.9] * 160 + [np.nan] * 40)
    sets = ConformalSets.fit(0.9, right, ["Disease"] * 200)
    assert (sets.ceilings["Disease"], sets.is_reachable("Disease"), sets.thresholds["Disease"]) == (0.8, False, 0.0)
    assert sets.size(np.array([0.5, 0.1]), "Disease") == 2


def test_a_rare_or_unknown_type_has_the_threshold_of_all() -> None:
    sets = ConformalSets.fit(0.5, np.linspace(0, 1, 100), ["Disease"] * 95 + ["Gene"] * 5)
    assert set(sets.thresholds) == {"Disease", ""}
    assert sets.size(np.array([0.6, 0.2]), "Gene") == sets.size(np.array([0.6, 0.2]), "") == 1


@pytest.mark.parametrize(("coverage", "size"), [(0.0, 3), (1.0, 3), (0.9, 0)])
def test_a_coverage_is_a_share_of_mentions(coverage: float, size: int) -> None:
    with pytest.raises(InputError) as error:
        ConformalSets.fit(coverage, np.ones(size), [""] * size)
    assert error.value.code == "calibration-invalid"
