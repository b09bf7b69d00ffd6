"""Names beside the right one: near and wrong, and never a right one among them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.kb import KnowledgeBase
from onym.train.samples.mention_pairs import MentionPairs
from onym.train.samples.negatives import Negatives
from onym.types import Document, Mention

DOC = Document(
    "1",
    "fevers heart attacks",
    (Mention(0, 6, "fevers", ("mesh:D005334",)), Mention(7, 20, "heart attacks", ("mesh:D009203",))),
)


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


def made(kb: KnowledgeBase, **more: float) -> Negatives:
    queries = MentionPairs([(DOC, mention) for mention in DOC.mentions], kb, count=0, similar=1.0).queries
    pools = np.array([np.arange(len(kb.names)), np.arange(len(kb.names))[::-1]])
    pools[1, -1] = -1
    options = {"hard": 3, "random": 2, "similar": 1.0, "seed": 5} | more
    return Negatives(queries, kb, pools, **options)  # type: ignore[arg-type]


def test_wrong_names_are_those_nearest_at_the_last_mining(kb: KnowledgeBase) -> None:
    negatives = made(kb)
    own = [set(each.names) for each in negatives.queries]
    before = [list(near) for near in negatives.hard]
    assert before[0] == [name for name in range(len(kb.names)) if name not in own[0]][:3]
    vectors = np.eye(len(kb.names), dtype=np.float32)
    wanted = [max(set(range(len(kb.names))) - names) for names in own]
    assert negatives.names.tolist() == list(range(len(kb.names)))
    negatives.mine(vectors[wanted], vectors)
    for near, best, names in zip(negatives.hard, wanted, own, strict=True):
        assert near[0] == best
        assert not set(near) & names
        assert len(near) == 3


def test_a_batch_has_a_right_name_of_each_mention(kb: KnowledgeBase) -> None:
    negatives = made(kb)
    names = negatives.sample([1, 0, 1], step=4)
    assert len(names) == len(set(names))
    right = negatives.is_positive([1, 0, 1], names)
    assert right.any(1).all()
    assert not right.all()
    for row, mention in enumerate((1, 0, 1)):
        assert {name for name, is_right in zip(names, right[row], strict=True) if is_right} == set(names) & set(
            negatives.queries[mention].names
        )
        assert negatives.queries[mention].best in names
        assert set(negatives.hard[mention]) <= set(names)
    assert negatives.sample([1, 0, 1], step=4) == names
    assert {tuple(negatives.sample([0], step=step)) for step in range(9)} != {tuple(negatives.sample([0], step=0))}


def test_any_right_name_in_turn(kb: KnowledgeBase) -> None:
    negatives = made(kb, similar=0.0, hard=0, random=0)
    found = {name for step in range(60) for name in negatives.sample([0], step)}
    assert found == set(negatives.queries[0].names)


def test_no_mentions(kb: KnowledgeBase) -> None:
    negatives = made(kb)
    assert negatives.sample([], 0) == []
    assert negatives.is_positive([], [1, 2]).shape == (0, 2)
