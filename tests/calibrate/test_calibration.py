"""Tests of fitting a calibration, and of storing it as JSON."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from onym.calibrate.calibration import Answers, ByEvidence, ByScore, Calibration, ScoredAnswer
from onym.calibrate.estimators import expected_calibration_error
from onym.errors import InputError


def draw_answers(count: int, seed: int, *, is_by_margin: bool) -> tuple[Answers, list[int | None], list[str]]:
    """Draw answers that are right with a probability given by their score or their margin."""
    generator = np.random.default_rng(seed)
    best, second = generator.random(count), generator.random(count)
    best = np.maximum(best, second) if is_by_margin else best
    probability = np.clip(2 * (best - second), 0, 1) if is_by_margin else best**2
    right = generator.random(count) < probability
    answers = Answers.of(ScoredAnswer(*pair, 2, 0, 8) for pair in zip(best, second, strict=True))
    return answers, [1 if each else None for each in right], [str(row // 5) for row in range(count)]


@pytest.mark.parametrize(("is_by_margin", "way"), [(False, ByScore), (True, ByEvidence)])
def test_better_model_is_kept_and_calibrated(is_by_margin: bool, way: type[ByScore | ByEvidence]) -> None:
    answers, ranks, documents = draw_answers(3_000, 0, is_by_margin=is_by_margin)
    fitted = Calibration.fit(answers, ranks, documents, [""] * 3_000)
    others, others_ranks, _ = draw_answers(3_000, 1, is_by_margin=is_by_margin)
    right = np.array([rank == 1 for rank in others_ranks])
    assert isinstance(fitted.way, way)
    assert expected_calibration_error(fitted.confidences(others), right) < 0.05
    reached = fitted.curve.at(0.8)
    assert abs(right[fitted.confidences(others) >= reached.threshold].mean() - 0.8) < 0.06
    assert fitted.quality.auroc is not None
    assert fitted.quality.auroc > 0.75


def test_one_probability_covers_span_and_concept() -> None:
    generator = np.random.default_rng(0)
    concept, mention = generator.random(3_000), generator.random(3_000)
    right = generator.random(3_000) < concept * mention
    answers = Answers.of(ScoredAnswer(each, 0.0, 2, 0, 8, score) for each, score in zip(concept, mention, strict=True))
    ranks, documents = [1 if each else None for each in right], [str(row // 5) for row in range(3_000)]
    joint = Calibration.fit(answers, ranks, documents, [""] * 3_000)
    given = Answers(answers.columns.copy())
    given.columns[:, ScoredAnswer._fields.index("detection")] = 1
    alone = Calibration.fit(given, ranks, documents, [""] * 3_000)
    assert joint.quality.log_loss < 0.9 * alone.quality.log_loss
    assert joint.quality.ece < 0.05


@pytest.mark.parametrize("is_by_margin", [False, True])
def test_round_trips_through_json(is_by_margin: bool) -> None:
    answers, ranks, documents = draw_answers(200, 0, is_by_margin=is_by_margin)
    fitted, adapter = Calibration.fit(answers, ranks, documents, ["Disease"] * 200), TypeAdapter(Calibration)
    assert adapter.validate_json(adapter.dump_json(fitted)) == fitted
    values = adapter.dump_python(fitted)
    with pytest.raises(ValidationError):
        adapter.validate_python({**values, "more": 1})


def test_no_auroc_if_all_answers_are_right() -> None:
    answers, _, documents = draw_answers(100, 0, is_by_margin=False)
    fitted = Calibration.fit(answers, [1] * 100, documents, [""] * 100)
    assert (fitted.quality.auroc, fitted.quality.accuracy) == (None, 1.0)


@pytest.mark.parametrize(("count", "documents"), [(49, 10), (100, 4)])
def test_rejects_too_few_answers(count: int, documents: int) -> None:
    answers, ranks, _ = draw_answers(count, 0, is_by_margin=False)
    with pytest.raises(InputError, match="calibration-invalid"):
        Calibration.fit(answers, ranks, [str(row % documents) for row in range(count)], [""] * count)
