"""What a document's text says about itself, found once and handed on from the detector to the linker.

A pipeline wraps each document on entry and unwraps it on exit. In between, `dataclasses.replace` keeps the analysis, so that
whoever comes later finds what was found before: abbreviations, sentences, words, and the vectors that a model made of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from operator import attrgetter

from onym.text.abbreviations import Abbreviations
from onym.text.align import Aligned, align, collapse, lower, punctuation
from onym.text.boundaries import sentences, words
from onym.types import Document, Offsets


class TextAnalysis:
    """What one text says about itself. Each part is found when it is first needed, and then kept.

    >>> analysis = TextAnalysis("Odds ratio (OR) was 2. No fever.")
    >>> analysis.abbreviations.expand("OR"), len(analysis.sentences), analysis.normalised.text
    ('Odds ratio', 2, 'odds ratio or was 2 no fever')
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.readings: dict[str, object] = {}
        """What models made of the whole text, by a key of the model: opaque here, and as large as the text is long."""

    @cached_property
    def abbreviations(self) -> Abbreviations:
        """The abbreviations that the text defines."""
        return Abbreviations.from_text(self.text)

    @cached_property
    def sentences(self) -> list[Offsets]:
        """The span of every sentence."""
        return sentences(self.text)

    @cached_property
    def sentence_starts(self) -> list[int]:
        """Where every sentence begins."""
        return [start for start, _ in self.sentences]

    @cached_property
    def words(self) -> list[Offsets]:
        """The span of every word."""
        return words(self.text)

    @cached_property
    def normalised(self) -> Aligned:
        """The text in the normal form of names, aligned with the raw text."""
        return align(self.text, lower, punctuation, collapse)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnalysedDocument(Document):
    """A document with the analysis of its text, which takes no part in comparisons. With another text it gets a new one."""

    analysis: TextAnalysis = field(kw_only=True)

    def __post_init__(self) -> None:
        Document.__post_init__(self)
        if self.analysis.text != self.text:
            object.__setattr__(self, "analysis", TextAnalysis(self.text))


_values = attrgetter(*(each.name for each in fields(Document)))


def analysed(doc: Document) -> AnalysedDocument:
    """Return a document with an analysis: the same object if it has one already.

    >>> doc = analysed(Document("1", "fever"))
    >>> analysed(doc) is doc
    True
    """
    return doc if isinstance(doc, AnalysedDocument) else AnalysedDocument(*_values(doc), analysis=TextAnalysis(doc.text))


def analysis_of(doc: Document) -> TextAnalysis:
    """Return the analysis that a document carries, or a new one."""
    return doc.analysis if isinstance(doc, AnalysedDocument) else TextAnalysis(doc.text)


def plain(doc: Document) -> Document:
    """Return a document without its analysis, which is then free to go.

    >>> plain(analysed(Document("1", "fever"))) == Document("1", "fever")
    True
    """
    return Document(*_values(doc)) if isinstance(doc, AnalysedDocument) else doc
