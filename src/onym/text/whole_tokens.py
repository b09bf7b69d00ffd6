"""Spans of characters as whole tokens of spaCy: a mention that begins or ends within a token takes the token in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span


def whole_tokens(doc: Doc, start: int, end: int, label: str = "", kb_id: str = "", span_id: str = "") -> Span:  # noqa: PLR0917
    """Return the tokens that hold any of the characters from `start` to `end`; for nothing but space, the one before it.

    >>> import spacy
    >>> doc = spacy.blank("en")("Hyperthermia is fever.")
    >>> whole_tokens(doc, 5, 18).text, whole_tokens(doc, 12, 13).text
    ('Hyperthermia is fever', 'Hyperthermia')
    """
    span = doc.char_span(start, end, label, kb_id, None, "expand", span_id)  # by position, which halves the time
    if span is not None and len(span):
        return span
    return whole_tokens(doc, start - 1, end, label, kb_id, span_id)
