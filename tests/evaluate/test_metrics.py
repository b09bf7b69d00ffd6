"""Tests of the metrics recall@k and mean average precision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.evaluate.cases import Case, Ranking
from onym.evaluate.metrics import average_precision, gold_ranks, recall_at, score
from tests.evaluate.test_protocols import ranking


def case(gold: str, *parts: str, is_in_kb: bool = True) -> Case:
    return Case("d", frozenset(gold.split("+")), tuple(map(ranking, parts)), is_in_kb)


def test_recall_over_all_and_over_those_in_the_kb() -> None:
    cases = [case("a", "a"), case("a", "b, a"), case("a", "b"), case("z", "a", is_in_kb=False)]
    scores = score(cases, "strict", (1, 2))
    assert (scores.cases, scores.in_kb) == (4, 3)
    assert scores.recall == {1: 0.25, 2: 0.5}
    assert scores.in_kb_recall == {1: pytest.approx(1 / 3), 2: pytest.approx(2 / 3)}
    assert scores.mean_average_precision == pytest.approx(1.5 / 4)


def test_scores_without_cases() -> None:
    scores = score([], "any-id")
    assert (scores.cases, scores.recall[1], scores.mean_average_precision) == (0, 0.0, 0.0)


def test_ranks_and_recall() -> None:
    assert gold_ranks([case("a", "a b"), case("a", "c")], "strict") == [2, None]
    assert recall_at([2, None], 1) == 0.0
    assert recall_at([2, None], 2) == 0.5


@pytest.mark.parametrize(
    ("gold", "parts", "expected"),
    [
        ("a", ["a"], 1.0),
        ("a", ["b, c, a"], 1 / 3),
        ("a", ["a b"], 1 / 2),  # a tied answer gets the rank of the last one in the tie
        ("a", ["b"], 0.0),
        ("a+b", ["a, b"], 1.0),
        ("a+b", ["a, c, b"], (1 + 2 / 3) / 2),
        ("a+b", ["a+b"], 1.0),
        ("a+b", ["a"], 0.5),
        ("a+b", ["a", "c, b"], (1 + 1 / 2) / 2),
    ],
)
def test_average_precision(gold: str, parts: list[str], expected: float) -> None:
    assert average_precision(case(gold, *parts)) == pytest.approx(expected)


answers = st.lists(
    st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=2), min_size=1, max_size=3).map(tuple), max_size=4
).map(tuple)


@given(st.frozensets(st.sampled_from("abcd"), min_size=1), st.lists(answers, min_size=1, max_size=3))
def test_average_precision_is_between_0_and_1(gold: frozenset[str], parts: list[Ranking]) -> None:
    assert 0 <= average_precision(Case("d", gold, tuple(parts))) <= 1
