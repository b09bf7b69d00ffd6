"""Two systems on the same cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onym.datasets import Prepared
from onym.errors import ConfigError
from onym.evaluate.comparison import compare
from onym.evaluate.evaluation import Evaluation, evaluate
from onym.evaluate.run import predict
from onym.kb import KnowledgeBase
from onym.linkers.exact import ExactLinker
from onym.predictions.file import Predictions


def evaluations(benchmark: Prepared) -> tuple[Evaluation, Evaluation]:
    assert benchmark.kb_folder
    kb = KnowledgeBase.open(benchmark.kb_folder)
    whole = predict(benchmark, "test", ExactLinker(kb))
    silent = Predictions.of((replace(one, answers=()) for one in whole), whole.source)
    return tuple(evaluate(benchmark, "test", each, kb, name="any-id") for each in (whole, silent))  # type: ignore[return-value]


def test_the_difference_and_its_tests(benchmark: Prepared) -> None:
    found = compare(*evaluations(benchmark))
    assert (found.cases, found.first, found.second) == (2, 1.0, 0.0)
    assert (found.mcnemar.only_a, found.mcnemar.only_b, found.mcnemar.p_value) == (2, 0, 0.5)
    assert found.bootstrap.difference == 1.0
    assert found.slices["overall"] == (2, 1.0, 0.0)
    assert found.t_test is None


def test_the_published_t_test_comes_only_when_asked_for_and_with_its_warning(benchmark: Prepared) -> None:
    found = compare(*evaluations(benchmark), with_t_test=True)
    assert found.t_test
    assert found.t_test.warning
    assert found.as_dict()["t_test"]["warning"]


def test_what_cannot_be_compared_is_refused(benchmark: Prepared) -> None:
    first, second = evaluations(benchmark)
    with pytest.raises(ConfigError, match="compare-other"):
        compare(first, replace(second, protocol="strict"))
    with pytest.raises(ConfigError, match="compare-other"):
        compare(first, replace(second, manifest={**second.manifest, "benchmark": {}}))
