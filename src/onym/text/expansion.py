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


def defined_at(doc: Document) -> list[tuple[int, int]]:
    """Return for each mention where the document has it written out: at its definition, or where it stands itself.

    >>> text = "Myocardial infarction (MI) is common. MI kills."
    >>> defined_at(Document("1", text, (Mention(38, 40, "MI"), Mention(41, 46, "kills"))))
    [(0, 21), (41, 46)]
    """
    known = Abbreviations.from_text(doc.text) if doc.mentions else Abbreviations(())
    found = [known.definition(mention.surface) for mention in doc.mentions]
    return [
        (definition.long_start, definition.long_end) if definition else (mention.start, mention.end)
        for definition, mention in zip(found, doc.mentions, strict=True)
    ]


def _written_out(doc: Document, mention: Mention, known: Abbreviations) -> tuple[Document, Mention]:
    long = known.expand(mention.surface)
    if not long:
        return doc, mention
    text = doc.text[: mention.start] + long + doc.text[mention.end :]
    placed = replace(mention, end=mention.start + len(long), surface=long, parts=())
    return replace(doc, text=text, mentions=(placed,)), placed
