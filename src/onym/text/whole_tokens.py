"""Spans of characters as whole tokens of spaCy: a mention that begins or ends within a token takes the token in."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span


class WholeTokens:
    """The tokens of a doc by their characters. They are looked up once: `doc.char_span` makes objects of tokens each time.

    >>> import spacy
    >>> tokens = WholeTokens(spacy.blank("en")("Hyperthermia is fever."))
    >>> tokens.span(5, 18).text, tokens.span(12, 13).text
    ('Hyperthermia is fever', 'Hyperthermia')
    """

    def __init__(self, doc: Doc) -> None:
        from spacy.tokens import Span

        self._span = Span
        columns = doc.to_array(["IDX", "LENGTH"])
        self._doc, self._starts, self._ends = doc, columns[:, 0].tolist(), columns.sum(axis=1).tolist()

    def span(self, start: int, end: int, label: str = "", kb_id: str = "", span_id: str = "") -> Span:
        """Return the tokens that hold any of the characters from `start` to `end`; for nothing but space, the one before it."""
        after = bisect_left(self._starts, end)
        first = min(bisect_right(self._ends, start), after - 1)
        return self._span(self._doc, first, after, label, None, None, kb_id, span_id)
