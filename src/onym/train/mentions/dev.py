"""The evaluation of a classifier on dev: F1 of spans, with the thresholds that are best there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onym.detect.classifier import ClassifierSettings, MentionClassifier
from onym.train.mentions.collate import Occurrences

THRESHOLDS = tuple(step / 20 for step in range(1, 20))
Probabilities = Sequence[float]


def tuned(
    classifier: MentionClassifier, found: Mapping[str, Occurrences]
) -> tuple[ClassifierSettings, dict[str, dict[str, float]]]:
    """Return the settings with the best thresholds, and the figures of each dataset: without a classifier, and with it.

    The general threshold is the one with the best mean over the datasets, where nothing is said about conventions.
    """
    plain = {name: _probabilities(classifier, each, "") for name, each in found.items()}
    own = {name: _probabilities(classifier, each, name) for name, each in found.items()}
    general = max(THRESHOLDS, key=lambda least: sum(f1(found[name], plain[name], least) for name in found))
    conventions = {
        name: max(THRESHOLDS, key=lambda least, name=name: f1(found[name], own[name], least))  # type: ignore[misc]
        for name in found
    }
    figures = {
        name: {
            "f1_without": f1(each, plain[name], 0.0),
            "f1": f1(each, plain[name], general),
            "f1_by_convention": f1(each, own[name], conventions[name]),
        }
        for name, each in found.items()
    }
    return ClassifierSettings(threshold=general, conventions=conventions), figures


def f1(found: Occurrences, probabilities: Probabilities, least: float) -> float:
    """Return F1 in percent of the spans that are likely enough.

    >>> from onym.detect.base import Span
    >>> both = Occurrences([("", Span(0, 1)), ("", Span(2, 3))], [[], []], np.array([True, False]), 2)
    >>> f1(both, [0.9, 0.2], 0.5)
    66.7
    """
    is_likely = np.array(probabilities) >= least
    right, predicted = int((is_likely & found.is_mention).sum()), int(is_likely.sum())
    return round(200 * right / (predicted + found.gold), 1) if predicted + found.gold else 0.0


def _probabilities(classifier: MentionClassifier, found: Occurrences, convention: str) -> Probabilities:
    return [classifier.probability(text, span, convention) for text, span in found.documents]
