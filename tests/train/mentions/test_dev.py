"""The thresholds that are best on dev."""

from __future__ import annotations

import numpy as np

from onym.detect.base import Span
from onym.detect.classifier import SIZE, ClassifierSettings, MentionClassifier, row_of
from onym.train.mentions.collate import Occurrences
from onym.train.mentions.dev import tuned


def test_thresholds_are_general_and_by_convention() -> None:
    weights = np.zeros(SIZE, dtype=np.float32)
    weights[row_of("before=to")], weights[row_of("|one")] = -2.0, 1.5
    found = Occurrences([("to fever", Span(3, 8)), ("a fever", Span(2, 7))], [[], []], np.array([False, True]), 1)
    settings, figures = tuned(MentionClassifier(weights, ClassifierSettings()), {"one": found})
    assert figures["one"] == {"f1_without": 66.7, "f1": 100.0, "f1_by_convention": 100.0}
    assert 0.1 < settings.threshold <= 0.5
    assert 0.35 < settings.conventions["one"] <= 0.85
