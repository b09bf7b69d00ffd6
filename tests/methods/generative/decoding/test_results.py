from __future__ import annotations

from onym.methods.generative.decoding.search import Hypothesis, best

SHORT, LONG = Hypothesis(4, -2.0, 1), Hypothesis(2, -3.0, 3)


def test_sorts_by_the_chosen_ranking() -> None:
    assert best([SHORT, LONG], "mean", 5) == (LONG, SHORT)
    assert best([LONG, SHORT], "sum", 5) == (SHORT, LONG)


def test_limits_the_number() -> None:
    assert best([SHORT, LONG], "sum", 1) == (SHORT,)
    assert best([], "sum", 1) == ()


def test_ties_are_ordered_by_leaf() -> None:
    same = [Hypothesis(leaf, -1.0, 2) for leaf in (9, 3, 7)]
    assert [each.leaf for each in best(same, "mean", 2)] == [3, 7]
