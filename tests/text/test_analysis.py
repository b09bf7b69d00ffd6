"""Tests that the analysis of a text is computed once, stays with its document, and is never reused for another text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from onym.errors import InputError
from onym.text import analysis as module
from onym.text.abbreviations import Abbreviations
from onym.text.analysis import AnalysedDocument, TextAnalysis, analyse, analysis_of, plain
from onym.text.boundaries import sentences, words
from onym.types import Document, Mention, Offsets, Passage, Relation

TEXT = "Congestive heart failure (CHF) is common. CHF kills."
DOC = Document(
    "1",
    TEXT,
    (Mention(42, 45, "CHF"),),
    (Passage(0, 41, "title"),),
    (Relation("causes", (("Arg1", "a:1"),)),),
    (("journal", "x"),),
)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records each computation, by name."""
    found: list[str] = []
    whole = Abbreviations.from_text

    def from_text(text: str) -> Abbreviations:
        found.append("abbreviations")
        return whole(text)

    monkeypatch.setattr(Abbreviations, "from_text", from_text)
    for split in (sentences, words):

        def count_split(text: str, split: Callable[[str], list[Offsets]] = split) -> list[Offsets]:
            found.append(split.__name__)
            return split(text)

        monkeypatch.setattr(module, split.__name__, count_split)
    return found


def test_computes_each_part_lazily_and_once(passes: list[str]) -> None:
    analysis = TextAnalysis(TEXT)
    assert passes == []
    for _ in range(2):
        assert analysis.abbreviations.expand("CHF") == "Congestive heart failure"
        assert analysis.sentences == sentences(TEXT)
        assert analysis.sentence_starts == [0, 42]
        assert analysis.words == words(TEXT)
        assert analysis.normal_form.text == "congestive heart failure chf is common chf kills"
    assert sorted(passes) == ["abbreviations", "sentences", "words"]


def test_replace_keeps_the_analysis(passes: list[str]) -> None:
    doc = analyse(DOC)
    assert analyse(doc) is doc
    later = replace(doc, mentions=())
    assert analysis_of(later) is analysis_of(doc) is doc.analysis
    assert analysis_of(doc).abbreviations is analysis_of(later).abbreviations
    assert passes == ["abbreviations"]
    assert analysis_of(DOC) is not analysis_of(DOC)


def test_new_text_gets_a_new_analysis() -> None:
    doc = analyse(DOC)
    other = replace(doc, text="fever", mentions=(), passages=())
    assert isinstance(other, AnalysedDocument)
    assert analysis_of(other) is not doc.analysis
    assert analysis_of(other).text == "fever"


def test_plain_restores_the_document() -> None:
    doc = analyse(DOC)
    assert type(plain(doc)) is Document
    assert plain(doc) == DOC
    assert plain(DOC) is DOC
    assert analyse(DOC) == doc
    assert hash(analyse(DOC)) == hash(doc)
    assert doc.analysis is not analyse(DOC).analysis
    assert repr(doc) == repr(DOC)


def test_mention_offsets_are_still_checked() -> None:
    with pytest.raises(InputError, match="type-offsets"):
        replace(analyse(DOC), mentions=(Mention(0, 3, "CHF"),))
