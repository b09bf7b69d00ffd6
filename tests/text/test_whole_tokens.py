"""Tests of mapping character spans to whole spaCy tokens."""

from __future__ import annotations

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from onym.text.boundaries import WholeTokens

NLP = spacy.blank("en")
TEXTS = st.text("ab-/(). \n\t\u00a0\u03b1\u0301\U0001f9ec'", min_size=1, max_size=30)


@given(TEXTS, st.data())
def test_tokens_cover_all_characters_but_space(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    span = WholeTokens(NLP.make_doc(text)).span(start, end, "Disease", "MESH:D1")
    assert len(span) > 0
    assert (span.label_, span.kb_id_) == ("Disease", "MESH:D1")
    covered = set(range(span.start_char, span.end_char))
    assert {at for at in range(start, end) if not text[at].isspace()} <= covered
    first, last = span[0], span[len(span) - 1]
    assert first.idx <= start or not text[start].strip()
    assert last.idx < end  # the last token starts inside the span


@pytest.mark.parametrize(
    ("start", "end", "expected"), [(0, 5, "Fever"), (1, 3, "Fever"), (5, 6, "Fever"), (5, 8, "is"), (4, 7, "Fever is")]
)
def test_within_tokens_and_at_spaces(start: int, end: int, expected: str) -> None:
    assert WholeTokens(NLP.make_doc("Fever is high")).span(start, end).text == expected


@given(TEXTS, st.data())
def test_agrees_with_char_span(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    doc = NLP.make_doc(text)
    expected = doc.char_span(start, end, "Disease", "MESH:D1", alignment_mode="expand", span_id="7")
    found = WholeTokens(doc).span(start, end, "Disease", "MESH:D1", "7")
    if expected is not None and len(expected):
        assert found == expected
        assert (found.label_, found.kb_id_, found.id_) == ("Disease", "MESH:D1", "7")
