"""Abbreviations written out: only what the document defines, and the document that was given is left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onym.text.expansion import written_out
from onym.types import Document, Mention

TEXT = "Congestive heart failure (CHF) is common. CHF kills, as fever does."


def document(*surfaces: str) -> Document:
    mentions = [Mention(TEXT.rindex(surface), TEXT.rindex(surface) + len(surface), surface, ("a:1",)) for surface in surfaces]
    return Document("1", TEXT, tuple(mentions))


def test_a_short_form_is_read_as_its_long_form() -> None:
    doc = document("CHF", "fever")
    (asked, mention), plain = written_out(doc)
    assert asked.text == "Congestive heart failure (CHF) is common. Congestive heart failure kills, as fever does."
    assert asked.text[mention.start : mention.end] == mention.surface == "Congestive heart failure"
    assert mention.concept_ids == ("a:1",)
    assert asked.mentions == (mention,)
    assert plain == (doc, doc.mentions[1])
    assert doc == document("CHF", "fever")


def test_what_the_document_does_not_define_stays() -> None:
    doc = Document("1", "CHF kills.", (Mention(0, 3, "CHF"),))
    assert written_out(doc) == [(doc, doc.mentions[0])]


@given(st.text(max_size=60), st.integers(0, 60), st.integers(1, 10))
def test_a_mention_is_always_where_it_says(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    if start < end:
        for asked, mention in written_out(Document("1", text, (Mention(start, end, text[start:end]),))):
            assert asked.text[mention.start : mention.end] == mention.surface
