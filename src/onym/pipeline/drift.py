"""A watch on confidences while a pipeline runs: whether they are spread as those that it was calibrated on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from onym.calibrate.drift import MAX_INDEX
from onym.pipeline.config import FittedCalibration
from onym.types import LinkedDocument

MIN_ANSWERS = 200
"""Fewer say nothing."""
_KEPT = 100_000  # the confidences of the first so many answers


class DriftWatch:
    """Looks at links on their way.

    >>> watch = DriftWatch(None)
    >>> list(watch.watched([])), watch.warning
    ([], None)
    """

    def __init__(self, fitted: FittedCalibration | None) -> None:
        self._fitted = fitted
        self._seen: list[float] = []

    def watched(self, linked: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
        """Yield documents as they are."""
        for each in linked:
            if self._fitted and len(self._seen) < _KEPT:
                self._seen += (link.confidence for link in each.links if link.confidence is not None)
            yield each

    @property
    def warning(self) -> str | None:
        """What to tell a person: that confidences, precision and coverage may not hold for these documents."""
        if self._fitted is None or len(self._seen) < MIN_ANSWERS:
            return None
        index = self._fitted.calibration.spread.index(np.array(self._seen))
        if index <= MAX_INDEX:
            return None
        return (
            f"confidences are spread otherwise than on {self._fitted.dataset} ({self._fitted.split}), which the pipeline was "
            f"calibrated on: they may not hold here (population stability index {index:.2f}, limit {MAX_INDEX})"
        )
