"""How far the confidences of predictions can be trusted: a reliability diagram in numbers, and risk over coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onym.calibrate import area_under_roc, expected_calibration_error, risk_coverage
from onym.evaluate.cases import Case, key_of
from onym.outputs.predictions import DocumentNames, Predictions

BINS = 10
_POINTS = 100


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """A bin of equally many answers: their mean confidence, and the share that is right."""

    answers: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class ConfidenceFigures:
    """Calibration error, area under the ROC curve (None where all are right, or all wrong), bins, and risk over coverage."""

    answers: int
    ece: float
    auroc: float | None
    bins: tuple[ConfidenceBin, ...]
    curve: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, confidences: Sequence[float], outcomes: Sequence[bool]) -> ConfidenceFigures:
        """Judge confidences by whether their answers were right.

        >>> ConfidenceFigures.of([0.9, 0.1], [True, False]).auroc
        1.0
        """
        said, right = np.array(confidences, dtype=np.float64), np.array(outcomes, dtype=np.float64)
        parts = np.array_split(np.argsort(said, kind="stable"), min(BINS, len(said)))
        coverage, risk = risk_coverage(said, right)
        kept = np.unique(np.linspace(0, len(coverage) - 1, _POINTS).round().astype(int))
        area = area_under_roc(said, right)
        return cls(
            answers=len(said),
            ece=expected_calibration_error(said, right),
            auroc=None if np.isnan(area) else area,
            bins=tuple(ConfidenceBin(len(part), float(said[part].mean()), float(right[part].mean())) for part in parts),
            curve=tuple(zip(coverage[kept].tolist(), risk[kept].tolist(), strict=True)),
        )


def confidence_figures(
    cases: Sequence[Case], ranks: Sequence[int | None], predictions: Predictions, names: DocumentNames
) -> ConfidenceFigures | None:
    """Return the figures of the cases whose answer has a confidence; None if there are none."""
    said = {own: predictions.mentions[key].confidence for key, own in predictions.keys_to(names).items()}
    found = [(said.get(key_of(case, names)), rank == 1) for case, rank in zip(cases, ranks, strict=True)]
    judged = [(confidence, is_right) for confidence, is_right in found if confidence is not None]
    return ConfidenceFigures.of(*zip(*judged, strict=True)) if judged else None
