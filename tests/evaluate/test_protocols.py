"""Tests of the rank of the gold concept under each protocol."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.evaluate.cases import Case, Ranking
from onym.evaluate.metrics import PROTOCOLS, find_protocol


def ranking(text: str) -> Ranking:
    """Parse a ranking such as `a b, c+d`: commas separate ranks, spaces ties, and `+` joins a set."""
    ranks = (rank.split() for rank in text.split(","))
    return tuple(tuple(frozenset(answer.split("+")) for answer in rank) for rank in ranks if rank)


def ranks_of(gold: str, *parts: str) -> dict[str, int | None]:
    case = Case("d", frozenset(gold.split("+")), tuple(map(ranking, parts)))
    return {name: judge(case) for name, judge in PROTOCOLS.items()}


@pytest.mark.parametrize(
    ("gold", "parts", "strict", "one_id", "any_id", "biosyn"),
    [
        ("a", ["a"], 1, 1, 1, 1),
        ("a", ["b, a"], 2, 2, 2, 2),
        ("a", [""], None, None, None, None),
        ("a", ["b, c"], None, None, None, None),
        ("a", ["a b"], 2, 2, 1, 1),  # two concepts share the top score
        ("a", ["b c, a d"], 4, 4, 2, 2),
        ("a", ["a+b"], None, None, 1, 1),  # the predicted set differs from the gold set
        ("a+b", ["a"], None, 1, 1, 1),  # a composite mention is right only if the whole set is predicted
        ("a+b", ["a b"], None, 2, 1, 1),  # two tied answers are not a predicted set
        ("a+b", ["a+b"], 1, None, 1, 1),
        ("a+b", ["c, a+b"], 2, None, 2, 2),
        ("a+b", ["a", "b"], 1, 1, 1, 1),  # the composite mention is split into two parts
        ("a+b", ["a", "c, b"], 2, 1, 1, 2),
        ("a+b", ["a", "a"], None, 1, 1, 1),  # both parts get the same concept, so half of the gold set is missing
        ("a+b", ["c", "b"], None, None, None, None),
        ("a+b", ["a", ""], None, 1, 1, None),
    ],
)
def test_rank_of_gold(
    gold: str, parts: list[str], strict: int | None, one_id: int | None, any_id: int | None, biosyn: int | None
) -> None:
    assert ranks_of(gold, *parts) == {"strict": strict, "one-id": one_id, "any-id": any_id, "biosyn": biosyn}


ids = st.sampled_from("abcdef")
rank = st.lists(ids, min_size=1, max_size=3, unique=True).map(lambda names: tuple(frozenset({n}) for n in names))


@given(ids, st.lists(rank, max_size=5).map(tuple))
def test_strict_is_never_more_lenient_than_any_id(gold: str, answers: Ranking) -> None:
    case = Case("d", frozenset({gold}), (answers,))
    strict, any_id = PROTOCOLS["strict"](case), PROTOCOLS["any-id"](case)
    assert (strict is None) == (any_id is None)
    assert strict is None or any_id is None or strict >= any_id
    first = answers[0] if answers else ()
    assert (strict == 1) == (first == (frozenset({gold}),))


def test_unknown_protocol_error_lists_protocols() -> None:
    with pytest.raises(ConfigError, match="protocol-unknown") as caught:
        find_protocol("accuracy")
    assert "strict" in caught.value.fix
