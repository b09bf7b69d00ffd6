from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.train.samples.trigrams import most_like


@pytest.mark.parametrize(
    ("name", "others", "best"),
    [
        ("heart attack", ["mi", "attack of the heart", "heart attacks"], 2),
        ("myocardial infarct", ["heart attack", "myocardial infarction", "infarct"], 1),
        ("fever", ["fever", "fevers"], 0),
        ("abc", ["xyz", "qrs"], 0),
        ("a", ["b", "a b"], 1),
        ("fever", ["fever and a very long rest of a name that says much more", "fevers"], 1),
    ],
)
def test_the_most_similar_name(name: str, others: list[str], best: int) -> None:
    assert most_like(name, others) == best


NAMES = st.lists(st.text("abc ", max_size=12), min_size=1, max_size=6)


@given(NAMES, st.text("abc ", min_size=1, max_size=12))
def test_no_other_shares_more(names: list[str], name: str) -> None:
    def cosine(other: str) -> float:
        one, two = ({f" {text} "[at : at + 3] for at in range(len(text))} for text in (name, other))
        return len(one & two) / (len(one) * len(two)) ** 0.5 if two else 0.0

    scores = [cosine(other) for other in names]
    assert scores[most_like(name, names)] == pytest.approx(max(scores))


def test_a_name_is_most_like_itself() -> None:
    names = ["heart failure", "heart attack", "attack"]
    assert [most_like(name, names) for name in names] == [0, 1, 2]
