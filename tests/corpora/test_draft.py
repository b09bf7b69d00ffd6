"""Tests that mentions are validated against their text, and that invalid ones become problems."""

from __future__ import annotations

import pytest

from onym.corpora.base import Draft, MalformedError
from onym.types import Document, Problem

TEXT = "breast and ovarian cancer"


@pytest.mark.parametrize(
    ("start", "end", "surface"),
    [(0, 6, "Breast"), (0, 5, "breast"), (-1, 3, "bre"), (20, 26, None), (6, 6, ""), (6, 3, None), (30, 40, None)],
)
def test_wrong_offsets_and_surfaces_become_problems_without_text(start: int, end: int, surface: str | None) -> None:
    draft = Draft("7", TEXT)
    draft.add(start, end, surface, where="a.txt:3")
    problem, document = draft.items()
    assert isinstance(problem, Problem)
    assert isinstance(document, Document)
    assert (problem.document_id, problem.code, problem.where) == ("7", "corpus-offsets", "a.txt:3")
    assert not document.mentions
    assert "reast" not in problem.what


@pytest.mark.parametrize("surface", ["breast cancer", "breast  cancer", "breastcancer", TEXT, None])
def test_surfaces_of_fragments_are_compared_without_the_gaps(surface: str | None) -> None:
    draft = Draft("7", TEXT)
    draft.add(0, 25, surface, parts=((0, 6), (19, 25)))
    assert not draft.problems
    draft.add(0, 25, "ovarian cancer", parts=((0, 6), (19, 25)))
    draft.add(0, 20, None, parts=((0, 6), (19, 25)))
    assert [problem.code for problem in draft.problems] == ["corpus-offsets"] * 2


def test_a_malformed_document_becomes_a_problem() -> None:
    assert MalformedError("what", "where").problem("3") == Problem("3", "corpus-malformed", "what", "where")


def test_rejects_mentions_far_longer_than_the_text() -> None:
    draft = Draft("1", "fever " * 100_000)
    for _ in range(5):
        draft.add(0, 600_000)
    with pytest.raises(MalformedError, match="together are far longer"):
        draft.add(0, 600_000)
    with pytest.raises(MalformedError):
        Draft("1", "high fever").require_short([(0, 10)] * 200_000, "")
