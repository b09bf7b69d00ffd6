"""A check for drift: whether the confidences of a run are distributed as in the calibration data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from onym.calibrate.estimators import MAX_INDEX
from onym.pipeline.config import FittedCalibration
from onym.types import LinkedDocument

MIN_ANSWERS = 200
"""Minimum number of links for a drift warning."""
_KEPT = 100_000  # maximum number of confidences to collect


class DriftWatch:
    """Detects drift: compares the confidences of links with the calibration data.

    >>> watch = DriftWatch(None)
    >>> list(watch.watch([])), watch.warning
    ([], None)
    """

    def __init__(self, fitted: FittedCalibration | None) -> None:
        self._fitted = fitted
        self._seen: list[float] = []

    def watch(self, linked: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
        """Yield the documents unchanged, and collect their confidences."""
        for each in linked:
            if self._fitted and len(self._seen) < _KEPT:
                self._seen += (link.confidence for link in each.links if link.confidence is not None)
            yield each

    @property
    def warning(self) -> str | None:
        """A warning if the distribution of confidences differs from the calibration data; else None."""
        if self._fitted is None or len(self._seen) < MIN_ANSWERS:
            return None
        index = self._fitted.calibration.spread.index(np.array(self._seen))
        if index <= MAX_INDEX:
            return None
        return (
            f"the confidence distribution differs from the calibration data, {self._fitted.dataset} ({self._fitted.split}): "
            f"confidences may be wrong here (population stability index {index:.2f}, limit {MAX_INDEX})"
        )
