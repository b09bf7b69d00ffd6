"""Tests of evaluating confidences: reliability bins and the risk-coverage curve."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onym.evaluate.evaluation import ConfidenceFigures, evaluate
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.methods.exact import ExactLinker
from onym.outputs.predictions import Predictions


def test_bins_and_curve_match_manual_computation() -> None:
    found = ConfidenceFigures.of([0.9] * 10 + [0.1] * 10, [True] * 9 + [False] + [False] * 9 + [True])
    assert found.answers == 20
    assert found.ece == pytest.approx(0.16, abs=0.1)
    assert [(each.answers, round(each.confidence, 2)) for each in found.bins] == [(2, 0.1)] * 5 + [(2, 0.9)] * 5
    assert [(coverage, round(risk, 6)) for coverage, risk in found.curve] == [(0.5, 0.1), (1.0, 0.5)]
    assert ConfidenceFigures.of([0.9], [True]).auroc is None


def test_evaluation_uses_available_confidences(abstracts: EvaluationTask) -> None:
    predictions = predict(abstracts, ExactLinker(abstracts.kb))
    assert evaluate(abstracts, predictions).confidence is None
    confident = Predictions.of((replace(one, confidence=0.75) for one in predictions), predictions.source)
    found = evaluate(abstracts, confident)
    assert found.confidence is not None
    assert found.confidence.answers == 2
    assert found.as_dict()["confidence"]["ece"] == pytest.approx(found.confidence.ece)
