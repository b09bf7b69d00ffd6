"""BC5CDR as GenBioEL reads it: composites with a column of fragments are cut where that is easy, and dropped where it is not.

A composite is cut if its fragments, joined by spaces, are the mention, or if there are two of them around " and " or " or ";
each piece has the id at its position. A mention with several ids but no fragments keeps them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from onym.corpora.formats import pubtator
from onym.corpora.ids import parsed_ids, written_ids
from onym.datasets.base import Reader
from onym.datasets.drops import NO_ID, DropCounts
from onym.datasets.inputs import Inputs
from onym.types import Document, Mention

COMPOSITE = "a composite that cannot be cut"
WHOLE = "composite"
"""The note of a piece: the offsets of its composite."""
_FRAGMENTS = "parts"  # the note that PubTator's reader makes of the seventh column
_JOINTS = (" and ", " or ")


def reader(files: Mapping[str, str]) -> Reader:
    """Return a reader of files by split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            for doc in drops.iter_documents(split, pubtator.read(inputs.source(path))):
                yield split, replace(doc, mentions=tuple(_kept(doc, split, drops)))

    return read


def _kept(doc: Document, split: str, drops: DropCounts) -> Iterator[Mention]:
    for mention in doc.mentions:
        pieces = cut(mention)
        if not pieces:
            drops.drop(split, COMPOSITE)
        for piece in pieces:
            if piece.concept_ids:
                yield piece
            else:
                drops.drop(split, NO_ID)


def cut(mention: Mention) -> list[Mention]:
    """Return the pieces of a composite, each with its own id; none if it cannot be cut, and other mentions as they are.

    >>> notes = (("parts", "renal failure|liver failure"),)
    >>> whole = Mention(4, 27, "renal and liver failure", ("mesh:D051437", "mesh:D017093"), "Disease", notes=notes)
    >>> [(piece.start, piece.end, piece.concept_ids) for piece in cut(whole)]
    [(4, 9, ('mesh:D051437',)), (14, 27, ('mesh:D017093',))]
    """
    ids, fragments = written_ids(mention).split("|"), dict(mention.notes).get(_FRAGMENTS)
    if len(ids) == 1 or fragments is None:
        return [mention]
    joint = _joint(mention.surface, fragments.split("|"))
    texts = fragments.split("|") if joint == " " else mention.surface.split(joint) if joint else []
    if not all(texts):
        return []
    pieces, start = [], mention.start
    for text, concept_id in zip(texts, ids, strict=False):  # as published: what has no partner is lost
        end = start + len(text)
        notes = ((WHOLE, f"{mention.start}|{mention.end}"),)
        pieces.append(Mention(start, end, text, parsed_ids(concept_id, mention.type), mention.type, notes=notes))
        start = end + len(joint)
    return pieces


def _joint(surface: str, fragments: list[str]) -> str:
    if " ".join(fragments) == surface:
        return " "
    return next((joint for joint in _JOINTS if len(fragments) == 2 and joint in surface), "")
