"""HTML of a text with highlighted spans, without scripts; everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

_COLOURS = ("#bfdbfe", "#fecaca", "#bbf7d0", "#fde68a", "#ddd6fe", "#fbcfe8", "#a5f3fc", "#fed7aa")
_FREQUENT = ("gene", "disease", "species", "variant", "chemical", "cellline", "phenotype")  # each has a colour of its own
NEGATED = "negated"
_WORDS = "color:#991b1b;user-select:none"  # copied text has no words that are not in the document
_UNLINKED = "background:none;outline:1px dashed #9ca3af"


class Mark(NamedTuple):
    """A highlighted span of text with a tooltip. `type` sets the colour; None means that the mention is not linked.

    `words`, such as `negated`, are written after the span. A negated span is struck through.
    """

    start: int
    end: int
    title: str
    type: str | None
    words: tuple[str, ...] = ()


def mark_text(text: str, marks: Iterable[Mark]) -> str:
    """Return a text as HTML with highlighted spans; where marks overlap, the tooltip has the titles of all of them.

    >>> mark_text("fever", [Mark(0, 5, "MESH:D005334 Fever", None)])[63:]
    '<mark style="background:none;outline:1px dashed #9ca3af" title="MESH:D005334 Fever">fever</mark></div>'
    """
    parts = [_mark_text(text[start:end], end, over) for start, end, over in _stretches(marks, len(text))]
    return f'<div class="onym" style="white-space:pre-wrap;line-height:1.7">{"".join(parts)}</div>'


def _stretches(marks: Iterable[Mark], length: int) -> Iterator[tuple[int, int, list[Mark]]]:
    """Split the range 0 to `length` at the bounds of all marks; yield each segment with the marks that cover it."""
    waiting = sorted(marks, key=lambda mark: mark.start, reverse=True)
    edges = {edge for mark in waiting for edge in (mark.start, mark.end)}
    over: list[Mark] = []
    for start, end in pairwise(sorted({0, length, *edges})):
        while waiting and waiting[-1].start <= start:
            over.append(waiting.pop())
        over = [mark for mark in over if mark.end > start]
        yield start, end, over


def _mark_text(text: str, end: int, marks: Sequence[Mark]) -> str:
    if not marks:
        return escape(text)
    title = escape("\n\n".join(mark.title for mark in marks))
    types = [mark.type for mark in marks if mark.type is not None]
    style = f"background:{colour_of_type(types[0])};border-radius:3px" if types else _UNLINKED
    style += ";text-decoration:line-through" * any(NEGATED in mark.words for mark in marks)
    words = dict.fromkeys(word for mark in marks if mark.end == end for word in mark.words)
    after = f'<small style="{_WORDS}"> {escape(", ".join(words))}</small>' if words else ""
    return f'<mark style="{style}" title="{title}">{escape(text)}</mark>{after}'


def colour_of_type(name: str) -> str:
    """Return the background colour of a type of mentions, for HTML; frequent types have different ones.

    >>> colour_of_type("Gene"), colour_of_type("Cell line") == colour_of_type("CellLine")
    ('#bfdbfe', True)
    """
    normal = "".join(name.split()).lower()
    return _COLOURS[_FREQUENT.index(normal) if normal in _FREQUENT else sum(name.encode()) % len(_COLOURS)]
