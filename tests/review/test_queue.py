"""Tests of the queue: its order, what scopes cover, leases, and undo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.review.create import DeskOptions, QueueFilter, ReviewedDocument, create_desk
from onym.review.desk import open_desk
from onym.review.merge import merge_desks
from onym.review.queue import QueuedLink, ReviewQueue
from tests.review.desks import FEVER, INFARCT, decide, link_at, make_desk


@pytest.fixture
def queue(tmp_path: Path, tiny_kb: Path) -> Iterator[ReviewQueue]:
    make_desk(tmp_path / "desk.sqlite", KnowledgeBase.open(tiny_kb))
    with open_desk(tmp_path / "desk.sqlite") as desk:
        yield ReviewQueue(desk, lambda: 0.0)


def test_most_expected_errors_come_first(queue: ReviewQueue) -> None:
    assert queue.next("ann") == 3  # of four links of MI, the least sure one
    queue.decide(decide(1, "not-a-mention", link=3, scope="everywhere"))
    assert queue.next("ann") == 4  # of MI with an expansion
    queue.decide(decide(2, "unsure", link=4))
    assert queue.next("ann") == 1
    queue.decide(decide(3, "right", link=1, scope="everywhere", concept_id=FEVER.concept_id))
    assert queue.next("ann") is None
    assert queue.undecided == 0


def test_counts_are_what_a_decision_changes(queue: ReviewQueue) -> None:
    link = queue.desk.link(2)
    assert queue.count_affected(link) == {"here": 1, "document": 2, "everywhere": 3}
    queue.decide(decide(1, "unsure", link=6))
    assert queue.count_affected(link) == {"here": 1, "document": 2, "everywhere": 2}
    before = queue.undecided
    queue.decide(decide(2, "no-concept", link=2, scope="everywhere"))
    assert before - queue.undecided == 2


def test_an_undo_gives_back_all_links_of_a_decision(queue: ReviewQueue) -> None:
    before = queue.undecided
    queue.decide(decide(1, "no-concept", link=2, scope="everywhere"))
    queue.decide(decide(1, "no-concept", link=2, scope="everywhere"))
    assert queue.undecided == before - 3
    queue.decide(decide(2, "undo", undoes="decision-1"))
    assert queue.undecided == before
    assert queue.next("ann") == 3


def test_reviewers_get_different_clusters(queue: ReviewQueue) -> None:
    first = queue.desk.link(queue.next("ann") or 0).cluster
    assert queue.desk.link(queue.next("bob") or 0).cluster != first
    assert queue.desk.link(queue.next("ann") or 0).cluster == first
    assert queue.desk.link(queue.next("ann", [first]) or 0).cluster != first


def test_a_lease_ends(tmp_path: Path, tiny_kb: Path) -> None:
    make_desk(tmp_path / "desk.sqlite", KnowledgeBase.open(tiny_kb))
    now = [0.0]
    with open_desk(tmp_path / "desk.sqlite") as desk:
        queue = ReviewQueue(desk, lambda: now[0])
        first = queue.next("ann")
        assert queue.next("bob") != first
        now[0] = 1_000.0
        assert queue.next("bob") == first


def test_decisions_are_known_after_a_restart(queue: ReviewQueue) -> None:
    queue.decide(decide(1, "no-concept", link=2, scope="everywhere"))
    assert ReviewQueue(queue.desk).undecided == queue.undecided


def test_links_that_are_not_queued_are_covered_but_not_asked(tmp_path: Path, tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    make_desk(tmp_path / "desk.sqlite", kb, DeskOptions(queue=QueueFilter(below=0.52)))
    with open_desk(tmp_path / "desk.sqlite") as desk:
        queue = ReviewQueue(desk)
        assert (queue.queued, queue.undecided) == (2, 2)
        assert queue.count_affected(desk.link(3))["everywhere"] == 3


def test_an_unlinked_mention_is_wrong_if_its_candidate_is_right(queue: ReviewQueue) -> None:
    from dataclasses import replace

    link = replace(queue.desk.link(1), confidence=0.4, nil_reason="below-precision")
    assert QueuedLink.of(link).wrong == 0.4


def write_fevers(path: Path, kb: KnowledgeBase) -> None:
    """Write a desk of six surfaces with the same confidence: three of one concept and last word, then three without."""
    documents = []
    for number, surface in enumerate(("hay fever", "drug fever", "swamp fever", "mi one", "mi two", "mi three")):
        text = f"A {surface}."
        confidence = 0.9 if number < 3 else 0.85
        answer = FEVER if number < 3 else INFARCT
        documents.append(ReviewedDocument(str(number), text, (link_at(text, surface, answer, confidence=confidence),)))
    create_desk(path, documents, kb, {})


def test_the_order_learns_from_decisions(tmp_path: Path, tiny_kb: Path) -> None:
    write_fevers(tmp_path / "desk.sqlite", KnowledgeBase.open(tiny_kb))
    with open_desk(tmp_path / "desk.sqlite") as desk:
        queue = ReviewQueue(desk)
        assert queue.next("ann") == 4  # the least sure ones are those of MI
        queue.decide(decide(1, "no-concept", link=1))
        assert queue.next("ann") == 2  # of the same concept as the wrong one
        queue.decide(decide(2, "undo", undoes="decision-1"))
        assert queue.next("ann") == 4
        queue.decide(decide(3, "unsure", link=1))  # says nothing about the others
        assert queue.next("ann") == 4


def test_a_blind_reviewer_has_a_queue_of_his_own(queue: ReviewQueue) -> None:
    queue.decide(decide(1, "no-concept", link=2, scope="everywhere"))
    blind = ReviewQueue(queue.desk, reviewer="bob")
    assert (blind.undecided, blind.next("bob")) == (6, 3)
    assert ReviewQueue(queue.desk, reviewer="ann").undecided == 3
    blind.decide(decide(2, "unsure", link=2, reviewer="bob"))
    assert blind.undecided == 5


def test_only_later_decisions_settle_a_disagreement(tmp_path: Path, tiny_kb: Path) -> None:
    make_desk(tmp_path / "desk.sqlite", KnowledgeBase.open(tiny_kb))
    with open_desk(tmp_path / "desk.sqlite") as desk:
        desk.decide(decide(1, "right", link=2, concept_id=INFARCT.concept_id))
        desk.decide(decide(2, "no-concept", link=2, reviewer="bob"))
        desk.decide(decide(3, "unsure", link=1))
    merge_desks([tmp_path / "desk.sqlite"], tmp_path / "open.sqlite", disagreements=True)
    with open_desk(tmp_path / "open.sqlite") as desk:
        queue = ReviewQueue(desk)
        assert (queue.queued, queue.undecided, queue.next("eve")) == (1, 1, 2)
        queue.decide(decide(4, "no-concept", link=2, scope="everywhere", reviewer="eve"))
        assert queue.next("eve") == 2  # the decision of Bob is narrower, and still holds
        queue.decide(decide(5, "no-concept", link=2, reviewer="eve"))
        assert queue.next("eve") is None
