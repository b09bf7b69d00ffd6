"""A made-up calibration whose scores are probabilities."""

from __future__ import annotations

import numpy as np

from onym.calibrate import Answers, Calibration, ScoredAnswer
from onym.pipeline.config import FittedCalibration


def fit_calibration(count: int = 400, share: float = 1.0) -> FittedCalibration:
    """Return a calibration in which links with score 1 are right (a `share` of them), and links with score 0 are wrong."""
    scores = np.linspace(0, 1, count)
    right = np.random.default_rng(0).random(count) < share * scores**0.5
    calibration = Calibration.fit(
        Answers.of(ScoredAnswer(score, 0.0, 2, 0, 8) for score in scores),
        [1 if each else 2 if row % 2 else None for row, each in enumerate(right)],
        [str(row % 20) for row in range(count)],
        ["Disease"] * count,
    )
    return FittedCalibration(
        dataset="made", split="dev", digest="ab12", mentions="given", documents=20, calibration=calibration
    )
