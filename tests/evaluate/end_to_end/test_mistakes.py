"""Tests of the kinds of end-to-end errors, such as spurious and partly linked mentions, and of grouping them."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.evaluate.mistakes import KINDS, EndToEndMistakes, find_mistakes
from onym.kb import KnowledgeBase
from onym.types import Document, Mention

TEXT = "fever cough fever pain"
FEVER, OTHER = "mesh:D005334", "mesh:D006973"


def document(*mentions: tuple[int, int, str]) -> Document:
    return Document("1", TEXT, tuple(Mention(a, b, TEXT[a:b], tuple(ids.split())) for a, b, ids in mentions))


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def find_in(kb: KnowledgeBase, gold: Document, predicted: Document) -> EndToEndMistakes:
    return find_mistakes([gold], [predicted], kb)


@pytest.mark.parametrize(
    ("predicted", "kind"),
    [
        ((), "missed"),
        (((0, 5, ""),), "unlinked"),
        (((0, 5, OTHER),), "wrong concept"),
        (((0, 11, FEVER),), "wrong span"),
        (((0, 11, OTHER),), "wrong concept"),
        (((0, 5, FEVER),), ""),
        (((0, 5, OTHER), (0, 5, FEVER)), ""),
    ],
)
def test_each_kind_of_error(kb: KnowledgeBase, predicted: tuple[tuple[int, int, str], ...], kind: str) -> None:
    mistakes = find_in(kb, document((0, 5, FEVER)), document(*predicted))
    assert {name: count for name, count in mistakes.counts.items() if count} == ({kind: 1} if kind else {})
    assert list(mistakes.counts) == list(KINDS)


def test_a_prediction_without_gold_is_spurious(kb: KnowledgeBase) -> None:
    mistakes = find_in(kb, document((0, 5, FEVER)), document((0, 5, FEVER), (6, 11, OTHER), (18, 22, "")))
    assert mistakes.counts["spurious"] == 1
    (mistake,) = mistakes.of_kind("spurious")
    assert (mistake.surface, mistake.predicted_surface, mistake.predicted.names) == ("", "cough", ("Hypertension",))
    assert "cough" not in repr(mistake)


def test_partly_linked_composite_is_wrong(kb: KnowledgeBase) -> None:
    assert find_in(kb, document((0, 5, f"{FEVER} {OTHER}")), document((0, 5, FEVER))).counts["wrong concept"] == 1


def test_equal_errors_are_grouped_most_frequent_first(kb: KnowledgeBase) -> None:
    gold = document((18, 22, OTHER), (0, 5, FEVER), (12, 17, FEVER))
    mistakes = find_in(kb, gold, document())
    assert [(mistake.surface, mistake.count) for mistake in mistakes.of_kind("missed")] == [("fever", 2), ("pain", 1)]
    limited = find_mistakes([gold], [document()], kb, limit=1)
    assert (limited.counts["missed"], len(limited.commonest)) == (3, 1)


def test_gold_without_concept_is_ignored(kb: KnowledgeBase) -> None:
    assert sum(find_in(kb, document((0, 5, "")), document()).counts.values()) == 0
    assert find_in(kb, document((0, 5, "")), document((0, 5, FEVER))).counts["spurious"] == 1


def test_ids_are_resolved_to_concepts(kb: KnowledgeBase) -> None:
    gold, predicted = document((0, 5, "mesh:OLD")), document((0, 5, FEVER))
    old = find_mistakes([gold], [predicted], kb, lambda concept_id: concept_id.replace("OLD", "D005334"))
    assert sum(old.counts.values()) == 0
