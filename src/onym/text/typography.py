"""Typographic characters as plain ones: curly apostrophes, special hyphens and spaces of word processors and publishers.

Models and names know apostrophes, hyphens and spaces of ASCII only. Each character is replaced by one character, so that
offsets stay the same. Dashes that separate clauses, soft hyphens and combining accents are kept.
"""

from __future__ import annotations

from dataclasses import replace

from onym.text.analysis import plain
from onym.types import Document, LinkedDocument

_APOSTROPHES, _QUOTES = "\u2018\u2019\u02bc\u2032", "\u201c\u201d"
_HYPHENS = "\u2010\u2011\u2012\u2013\u2212"  # hyphen, non-breaking hyphen, figure dash, en dash, minus sign
_SPACES = "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f"
_PLAIN = str.maketrans(
    dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_QUOTES, '"') | dict.fromkeys(_HYPHENS, "-") | dict.fromkeys(_SPACES, " ")
)


def fold_text(text: str) -> str:
    """Return a text of the same length with plain apostrophes, quotation marks, hyphens and spaces.

    >>> fold_text("Crohn\u2019s disease, non\u2010small")
    "Crohn's disease, non-small"
    """
    return text if text.isascii() else text.translate(_PLAIN)


def fold_document(doc: Document) -> Document:
    """Return a document with plain characters; the same document if it has no others."""
    return with_text(doc, fold_text(doc.text))


def with_text(doc: Document, text: str) -> Document:
    """Return a document with another text of the same length, and the surfaces of its mentions in it."""
    if text == doc.text:
        return doc
    mentions = tuple(replace(each, surface=text[each.start : each.end]) for each in doc.mentions)
    return replace(plain(doc), text=text, mentions=mentions)


def restore_text(linked: LinkedDocument, text: str) -> LinkedDocument:
    """Return links of a document with plain characters as links of its original text."""
    if linked.document.text == text:
        return linked
    places = [link.mention for link in linked.links]
    mentions = [replace(each, surface=text[each.start : each.end]) for each in places]
    links = tuple(replace(link, mention=mention) for link, mention in zip(linked.links, mentions, strict=True))
    return replace(linked, document=with_text(linked.document, text), links=links)
