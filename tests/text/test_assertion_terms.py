"""Tests that each assertion phrase sets the mark of the list that contains it."""

from __future__ import annotations

import pytest

from onym.text.assertion import (
    _MAX_WORDS,
    BACKWARD,
    FORWARD,
    MARKS,
    NOTHING,
    STOP,
    _iter_phrases,
    _lexicon,
    _Node,
    assertion_marks,
)
from onym.text.boundaries import words
from onym.types import AssertionMark, Document, Mention

OPENERS: dict[AssertionMark, str] = {
    "negated": "no",
    "possible": "possible",
    "historical": "history of",
    "hypothetical": "if",
    "other-experiencer": "mother",
}


def phrases(listed: str) -> list[str]:
    return [" ".join(phrase).replace("#", "3") for phrase in _iter_phrases(listed)]


def marks_of_fever(text: str) -> tuple[AssertionMark, ...]:
    start = text.index("fever")
    return assertion_marks(Document("1", text, (Mention(start, start + 5, "fever"),)))[0]


def test_lists_cover_all_marks() -> None:
    assert tuple(FORWARD) == tuple(BACKWARD) == tuple(STOP) == tuple(OPENERS) == MARKS


@pytest.mark.parametrize("mark", MARKS)
def test_phrases_mark_mentions_after_or_before_them(mark: AssertionMark) -> None:
    assert [phrase for phrase in phrases(FORWARD[mark]) if mark not in marks_of_fever(f"{phrase} fever")] == []
    assert [phrase for phrase in phrases(BACKWARD[mark]) if mark not in marks_of_fever(f"fever {phrase}")] == []


@pytest.mark.parametrize("mark", MARKS)
def test_phrases_end_a_scope(mark: AssertionMark) -> None:
    ends = [f"{OPENERS[mark]} cough {phrase} fever" for phrase in phrases(STOP[mark])]
    assert [text for text in ends if mark in marks_of_fever(text)] == []


def test_pseudo_phrases_have_no_effect() -> None:
    assert [phrase for phrase in phrases(NOTHING) if marks_of_fever(f"{phrase} fever")] == []


def test_phrases_consist_of_words() -> None:
    listed = [phrase for table in (FORWARD, BACKWARD, STOP) for text in table.values() for phrase in phrases(text)]
    for phrase in [*listed, *phrases(NOTHING)]:
        assert [phrase[start:end] for start, end in words(phrase)] == phrase.split(), phrase
        assert phrase == phrase.lower()


def test_phrases_fit_the_maximum_match_length() -> None:
    def depth(node: _Node) -> int:
        return 1 + max((depth(each) for each in node.following.values()), default=-1)

    assert depth(_lexicon()) <= _MAX_WORDS
