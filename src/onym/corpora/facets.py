"""What a document holds, facet by facet: what is lost in a format, and what must be equal after a round trip."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from onym.corpora.base import Facet
from onym.types import Document, Mention, Notes

View = dict[str, Any]


def facets_of(document: Document) -> frozenset[Facet]:
    """Return the facets that a document makes use of.

    >>> sorted(facets_of(Document("1", "fever", (Mention(0, 5, "fever", type="Disease"),))))
    ['document ids', 'mentions', 'text', 'types']
    """
    mentions = document.mentions
    used: dict[Facet, bool] = {
        "document ids": True,
        "text": True,
        "passages": bool(document.passages),
        "mentions": bool(mentions),
        "types": any(mention.type for mention in mentions),
        "concept ids": any(len(mention.concept_ids) == 1 for mention in mentions),
        "composites": any(len(mention.concept_ids) > 1 for mention in mentions),
        "discontinuous": any(mention.parts for mention in mentions),
        "relations": bool(document.relations),
        "mention ids": any(mention.id for mention in mentions),
        "notes": any(_all_notes(document)),
    }
    return frozenset(facet for facet, is_used in used.items() if is_used)


def view(document: Document, facets: Collection[Facet]) -> View:
    """Return what a document holds of some facets, to be compared; the order of mentions does not count.

    >>> view(Document("1", "fever"), {"text"})
    {'text': 'fever'}
    """
    seen: View = {}
    if "document ids" in facets:
        seen["id"] = document.id
    if "text" in facets:
        seen["text"] = document.text
    noted = "notes" in facets
    if "passages" in facets:
        seen["passages"] = [(each.start, each.end, each.kind, each.notes if noted else ()) for each in document.passages]
    if "mentions" in facets:
        seen["mentions"] = sorted(_mention_view(mention, facets) for mention in document.mentions)
    if "relations" in facets:
        seen["relations"] = [(each.type, each.arguments, each.id, each.notes if noted else ()) for each in document.relations]
    if noted:
        seen["notes"] = document.notes
    return seen


def describe_loss(format: str, facet: Facet, documents: int) -> str:  # noqa: A002
    """Return a sentence about what a format cannot store, and in how many documents it was there.

    >>> describe_loss("pubtator", "text", 1)
    'pubtator cannot store every character of the text: some are replaced (1 document)'
    >>> describe_loss("brat", "passages", 20)
    'brat cannot store all passages (20 documents)'
    """
    what = "every character of the text: some are replaced" if facet == "text" else f"all {facet}"
    return f"{format} cannot store {what} ({documents:,} document{'' if documents == 1 else 's'})"


def _mention_view(mention: Mention, facets: Collection[Facet]) -> tuple[Any, ...]:
    ids_facet: Facet = "composites" if len(mention.concept_ids) > 1 else "concept ids"
    return (
        mention.start,
        mention.end,
        mention.type if "types" in facets else "",
        mention.concept_ids if ids_facet in facets else (),
        mention.parts if "discontinuous" in facets else (),
        mention.id if "mention ids" in facets else "",
        mention.notes if "notes" in facets else (),
    )


def _all_notes(document: Document) -> Iterator[Notes]:
    yield document.notes
    yield from (passage.notes for passage in document.passages)
    yield from (mention.notes for mention in document.mentions)
    yield from (relation.notes for relation in document.relations)
