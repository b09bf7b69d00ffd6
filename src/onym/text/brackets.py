"""Brackets that belong together: a span of text should hold both of a pair or neither."""

from __future__ import annotations

from onym.types import Offsets

_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))
_ANY = frozenset("()[]{}")


def is_balanced(text: str) -> bool:
    """Tell whether a text has as many closing as opening brackets of each kind."""
    return _ANY.isdisjoint(text) or all(text.count(opening) == text.count(closing) for opening, closing in _PAIRS)


def closed(text: str, start: int, end: int) -> Offsets | None:
    """Return a span with the bracket that closes it, if that follows at once; None if another half of a pair is missing.

    >>> text = "poly(ADP-ribose) and (G6PD) deficiency"
    >>> closed(text, 0, 15), closed(text, 22, 38), closed(text, 5, 15)
    ((0, 16), None, (5, 15))
    """
    surface = text[start:end]
    if is_balanced(surface):
        return start, end
    if text[end : end + 1] in _ANY and is_balanced(text[start : end + 1]):
        return start, end + 1
    return None
