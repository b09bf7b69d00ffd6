"""Mentions with their abbreviations expanded, as GenBioEL's appendix A prepares texts: what a model reads."""

from __future__ import annotations

from dataclasses import replace

from onym.text.abbreviations import Abbreviations
from onym.text.analysis import analysis_of, plain
from onym.types import Document, Mention


def expand_abbreviations(doc: Document) -> list[tuple[Document, Mention]]:
    """Return each mention with a document in which its long form replaces it, if the document defines one.

    The document itself and its offsets stay as they are: those that are returned are for a model to read, not for answers.

    >>> text = "Myocardial infarction (MI) is common. MI kills."
    >>> doc = Document("1", text, (Mention(38, 40, "MI"),))
    >>> [(expanded, mention)] = expand_abbreviations(doc)
    >>> expanded.text[mention.start :], mention.surface
    ('Myocardial infarction kills.', 'Myocardial infarction')
    """
    abbreviations = _abbreviations(doc)
    return [_expanded(doc, mention, abbreviations.expand(mention.surface)) for mention in doc.mentions]


def defining_mentions(doc: Document) -> tuple[Mention, ...]:
    """Return for each mention the span where the document spells it out: its long form at the definition, or itself.

    >>> text = "Myocardial infarction (MI) is common. MI kills."
    >>> found = defining_mentions(Document("1", text, (Mention(38, 40, "MI"), Mention(41, 46, "kills"))))
    >>> [(mention.start, mention.end, mention.surface) for mention in found]
    [(0, 21, 'Myocardial infarction'), (41, 46, 'kills')]
    """
    abbreviations = _abbreviations(doc)
    found = [(mention, abbreviations.definition(mention.surface)) for mention in doc.mentions]
    return tuple(
        Mention(definition.long_start, definition.long_end, definition.long) if definition else mention
        for mention, definition in found
    )


def _abbreviations(doc: Document) -> Abbreviations:
    return analysis_of(doc).abbreviations if doc.mentions else Abbreviations(())


def _expanded(doc: Document, mention: Mention, long: str | None) -> tuple[Document, Mention]:
    if not long:
        return doc, mention
    text = doc.text[: mention.start] + long + doc.text[mention.end :]
    expanded = replace(mention, end=mention.start + len(long), surface=long, parts=())
    return replace(plain(doc), text=text, mentions=(expanded,)), expanded
