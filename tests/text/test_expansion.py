"""Tests of abbreviation expansion: only abbreviations defined in the document, and the document itself is unchanged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onym.text.analysis import AnalysedDocument, plain
from onym.text.queries import defining_mention, queries_of, spell_out
from onym.types import Document, Mention

TEXT = "Congestive heart failure (CHF) is common. CHF kills, as fever does."


def document(*surfaces: str) -> Document:
    mentions = [Mention(TEXT.rindex(surface), TEXT.rindex(surface) + len(surface), surface, ("a:1",)) for surface in surfaces]
    return Document("1", TEXT, tuple(mentions))


def test_a_short_form_is_read_as_its_long_form() -> None:
    doc = document("CHF", "fever")
    (expanded, mention), (same, fever) = map(spell_out, queries_of(doc))
    assert expanded.text == "Congestive heart failure (CHF) is common. Congestive heart failure kills, as fever does."
    assert expanded.text[mention.start : mention.end] == mention.surface == "Congestive heart failure"
    assert mention.concept_ids == ("a:1",)
    assert expanded.mentions == (mention,)
    assert (plain(same), fever) == (doc, doc.mentions[1])
    assert doc == document("CHF", "fever")


def test_keeps_undefined_abbreviations() -> None:
    doc = Document("1", "CHF kills.", (Mention(0, 3, "CHF"),))
    [query] = queries_of(doc)
    assert spell_out(query) == (query.document, doc.mentions[0])
    assert plain(query.document) == doc


def test_a_mention_moves_to_its_definition() -> None:
    doc = document("CHF", "fever")
    long, fever = map(defining_mention, queries_of(doc))
    assert (long.start, long.end, long.surface) == (0, 24, "Congestive heart failure")
    assert fever == doc.mentions[1]
    assert queries_of(Document("1", TEXT)) == []
    assert list(map(defining_mention, queries_of(doc, expand=False))) == list(doc.mentions)


def test_expanded_text_drops_the_old_analysis() -> None:
    short, fever = queries_of(document("CHF", "fever"))
    (expanded, _), (same, _) = spell_out(short), spell_out(fever)
    assert not isinstance(expanded, AnalysedDocument)
    assert same is fever.document


@given(st.text(max_size=60), st.integers(0, 60), st.integers(1, 10))
def test_mention_offsets_match_the_text(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    if start < end:
        for expanded, mention in map(spell_out, queries_of(Document("1", text, (Mention(start, end, text[start:end]),)))):
            assert expanded.text[mention.start : mention.end] == mention.surface
