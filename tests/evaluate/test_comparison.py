"""Tests of comparing two systems on the same cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onym.errors import ConfigError
from onym.evaluate.evaluation import Evaluation, compare, evaluate
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.methods.exact import ExactLinker
from onym.outputs.predictions import Predictions


def evaluations(task: EvaluationTask) -> tuple[Evaluation, Evaluation]:
    whole = predict(task, ExactLinker(task.kb))
    silent = Predictions.of((replace(one, answers=()) for one in whole), whole.source)
    return tuple(evaluate(task, each, protocol="any-id") for each in (whole, silent))  # type: ignore[return-value]


def test_the_difference_and_its_tests(task: EvaluationTask) -> None:
    found = compare(*evaluations(task))
    assert (found.cases, found.first, found.second) == (2, 1.0, 0.0)
    assert (found.mcnemar.only_a, found.mcnemar.only_b, found.mcnemar.p_value) == (2, 0, 0.5)
    assert found.bootstrap.difference == 1.0
    assert found.slices["overall"] == (2, 1.0, 0.0)
    assert found.t_test is None


def test_t_test_is_optional_and_has_a_warning(task: EvaluationTask) -> None:
    found = compare(*evaluations(task), with_t_test=True)
    assert found.t_test
    assert found.t_test.warning
    assert found.as_dict()["t_test"]["warning"]


def test_rejects_different_protocols_and_datasets(task: EvaluationTask) -> None:
    first, second = evaluations(task)
    with pytest.raises(ConfigError, match="compare-other"):
        compare(first, replace(second, protocol="strict"))
    with pytest.raises(ConfigError, match="compare-other"):
        compare(first, replace(second, manifest={**second.manifest, "dataset": {}}))
