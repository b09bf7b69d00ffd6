"""Rows that may mean the same, against a loop over all pairs of rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.store.arrays import Ragged, Strings
from onym.train.losses.miner import hard_pairs
from onym.train.samples.base import Positive
from onym.train.samples.positives import PositivePairs
from onym.train.samples.same import labels_of, same_of
from tests.train.samples.made_kb import made_kb

CONCEPTS, NAMES = 6, 8


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return made_kb(tmp_path_factory.mktemp("made"))


def kb_of(meant: list[set[int]]) -> Any:
    """Return the parts of a knowledge base whose names mean these concepts."""
    offsets = np.cumsum([0, *map(len, meant)]).astype(np.uint32)
    values = np.array([concept for each in meant for concept in sorted(each)], dtype=np.uint32)
    names = Strings.of([f"n{number}" for number in range(len(meant))])

    class Kb(SimpleNamespace):
        def __len__(self) -> int:
            return CONCEPTS

    return Kb(names=names, name_concepts=Ragged(offsets, values))


MEANT = st.lists(st.sets(st.integers(0, CONCEPTS - 1), min_size=1, max_size=3), min_size=NAMES, max_size=NAMES)
STRINGS = st.integers(0, NAMES + 3)  # the last ones are no names
POSITIVES = st.lists(
    st.builds(
        Positive,
        st.just("one"),
        st.just("other"),
        st.integers(0, CONCEPTS - 1),
        st.tuples(STRINGS, STRINGS),
        st.lists(st.integers(0, CONCEPTS - 1), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


@given(MEANT, POSITIVES)
def test_they_share_a_string_or_a_concept_and_differ_in_label(meant: list[set[int]], positives: list[Positive]) -> None:
    rows = [
        (each.concept, each.names[side], {each.concept, *(each.also if side == 0 else ())})
        for side in (0, 1)
        for each in positives
    ]
    rows = [(label, name, concepts | (meant[name] if name < NAMES else set())) for label, name, concepts in rows]
    expected = [
        [one[0] != other[0] and (one[1] == other[1] or not one[2].isdisjoint(other[2])) for other in rows] for one in rows
    ]
    found = same_of(positives, kb_of(meant))
    assert found.tolist() == expected
    assert labels_of(positives).tolist() == [row[0] for row in rows]


def test_a_name_of_two_concepts_is_no_negative_of_either(kb: KnowledgeBase) -> None:
    torch = pytest.importorskip("torch")
    infarction, alert = 0, 6  # both are a heart attack
    pairs = [pair for pair in PositivePairs(kb, 9).__getitems__(range(40)) if pair.concept in (infarction, alert)]
    labels, same = labels_of(pairs), same_of(pairs, kb)
    strings = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    shared = np.array([string == "heart attack" for string in strings])
    differ = labels[:, None] != labels
    assert differ[np.ix_(shared, shared)].any()
    assert same[differ & (shared[:, None] | shared)].all()
    assert not same[~shared][:, ~shared].any()
    found = hard_pairs(torch.ones(len(labels), 2), torch.from_numpy(labels), same=torch.from_numpy(same))
    assert not found.negative[torch.from_numpy(same)].any()
    assert found.negative.any()


def test_a_batch_of_many_rows(kb: KnowledgeBase) -> None:
    pairs = PositivePairs(kb, 9).__getitems__(range(600))
    assert same_of(pairs, kb).shape == (1200, 1200)
