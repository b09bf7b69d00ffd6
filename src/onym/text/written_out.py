"""Mentions with their abbreviations written out, as GenBioEL's appendix A prepares texts: what a model is asked about."""

from __future__ import annotations

from dataclasses import replace

from onym.text.abbreviations import Abbreviations
from onym.types import Document, Mention


def written_out(doc: Document) -> list[tuple[Document, Mention]]:
    """Return each mention with a document where it stands as what it is short for, if the document says so.

    The given document and its offsets stay as they are: those that come back are for a reader of text, not for answers.

    >>> text = "Myocardial infarction (MI) is common. MI kills."
    >>> doc = Document("1", text, (Mention(38, 40, "MI"),))
    >>> [(asked, mention)] = written_out(doc)
    >>> asked.text[mention.start :], mention.surface
    ('Myocardial infarction kills.', 'Myocardial infarction')
    """
    known = Abbreviations.from_text(doc.text) if doc.mentions else Abbreviations(())
    return [_written_out(doc, mention, known) for mention in doc.mentions]


def _written_out(doc: Document, mention: Mention, known: Abbreviations) -> tuple[Document, Mention]:
    long = known.expand(mention.surface)
    if not long:
        return doc, mention
    text = doc.text[: mention.start] + long + doc.text[mention.end :]
    placed = replace(mention, end=mention.start + len(long), surface=long, parts=())
    return replace(doc, text=text, mentions=(placed,)), placed
