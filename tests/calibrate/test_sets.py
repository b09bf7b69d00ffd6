"""Tests that conformal candidate sets reach their target coverage."""

from __future__ import annotations

import numpy as np
import pytest

from onym.calibrate.thresholds import COVERAGES, ConformalSets, TypeSets, require_coverage
from onym.errors import InputError


def draw_confidences(count: int, seed: int, power: float) -> tuple[list[float], list[int | None]]:
    """Draw calibrated confidences and the ranks of the right candidates."""
    generator = np.random.default_rng(seed)
    confidences = generator.beta(4, 1, size=count) ** power
    later = generator.choice([2, 3, 0], p=[0.6, 0.3, 0.1], size=count).tolist()
    is_first = generator.random(count) < confidences
    return confidences.tolist(), [1 if first else rank or None for first, rank in zip(is_first, later, strict=True)]


def test_sets_reach_the_target_coverage() -> None:
    (easy, hard), count = (draw_confidences(3_000, 0, 1), draw_confidences(3_000, 1, 3)), 3_000
    types = ["Disease"] * count + ["Chemical"] * count
    sets = ConformalSets.fit(np.array(easy[0] + hard[0]), easy[1] + hard[1], types)
    for name, (confidences, ranks), coverage in (
        ("Disease", draw_confidences(3_000, 2, 1), 0.9),
        ("Chemical", draw_confidences(3_000, 3, 3), 0.85),
    ):
        sizes = [sets.size(coverage, confidence=p, candidates=3, of_type=name) for p in confidences]
        covered = np.mean([rank is not None and rank <= size for rank, size in zip(ranks, sizes, strict=True)])
        assert coverage - 0.02 < covered < coverage + 0.04
        assert 1 <= np.mean(sizes) < 3


def test_coverage_ceiling() -> None:
    sets = ConformalSets.fit(np.full(200, 0.9), [1] * 160 + [None] * 40, ["Disease"] * 200)
    assert sets.ceiling("Disease") == sets.ceiling("Gene") == 0.8
    assert sets.size(0.9, confidence=0.9, candidates=3, of_type="Disease") == 3


def test_rare_types_use_the_thresholds_of_all() -> None:
    sets = ConformalSets.fit(np.linspace(0, 1, 100), [1] * 100, ["Disease"] * 95 + ["Gene"] * 5)
    assert set(sets.by_type) == {"Disease", ""}
    assert sets.size(0.9, confidence=0.9, candidates=0, of_type="Gene") == 0


@pytest.mark.parametrize("coverage", [0.0, 1.0, 0.905, 0.4, float("nan")])
def test_rejects_unsupported_coverage(coverage: float) -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        require_coverage(coverage)
    assert all(require_coverage(each) == each for each in COVERAGES)


def test_stored_sets_are_validated() -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        TypeSets((0.5,), 1.0)
    with pytest.raises(InputError, match="calibration-invalid"):
        ConformalSets((), {})
    with pytest.raises(InputError, match="calibration-invalid"):
        ConformalSets.fit(np.array([]), [], [])
