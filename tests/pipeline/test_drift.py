"""Tests that a pipeline warns if its confidences differ from those of the calibration data."""

from __future__ import annotations

import numpy as np

from onym.pipeline.drift import MIN_ANSWERS, DriftWatch
from onym.types import Candidate, Document, Link, LinkedDocument, Mention
from tests.pipeline.calibrated import fit_calibration


def make_linked(confidences: list[float]) -> list[LinkedDocument]:
    fever = (Candidate("a:1", "fever", 1.0),)
    links = (Link(Mention(0, 5, "fever"), fever, confidence=each) for each in confidences)
    return [LinkedDocument(Document("1", "fever"), (link, Link(Mention(0, 5, "fever")))) for link in links]


def test_warns_if_confidences_drift() -> None:
    calibration = fit_calibration()
    scores = np.linspace(0, 1, 1_000)
    alike = calibration.calibration.way.function.probabilities(scores).tolist()  # type: ignore[union-attr]
    for confidences, is_warned in ((alike, False), ([0.3] * 1_000, True), ([0.3] * (MIN_ANSWERS - 1), False)):
        watch, docs = DriftWatch(calibration), make_linked(confidences)
        assert list(watch.watch(docs)) == docs
        assert ("made (dev)" in (watch.warning or "")) == is_warned


def test_no_warning_without_calibration() -> None:
    watch = DriftWatch(None)
    list(watch.watch(make_linked([0.3] * 500)))
    assert watch.warning is None
