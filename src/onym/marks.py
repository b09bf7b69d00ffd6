"""Text with its mentions marked, as HTML: no script, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

_COLOURS = ("#bfdbfe", "#fecaca", "#bbf7d0", "#fde68a", "#ddd6fe", "#fbcfe8", "#a5f3fc", "#fed7aa")
_UNLINKED = "background:none;outline:1px dashed #9ca3af"


class Mark(NamedTuple):
    """A stretch of a text, what it means, and its type, which has a colour; None where it is not linked."""

    start: int
    end: int
    title: str
    type: str | None


def mark_text(text: str, marks: Iterable[Mark]) -> str:
    """Return a text as HTML; where marks overlap, the title says all of them.

    >>> mark_text("fever", [Mark(0, 5, "MESH:D005334 Fever", None)])[63:]
    '<mark style="background:none;outline:1px dashed #9ca3af" title="MESH:D005334 Fever">fever</mark></div>'
    """
    parts = [_marked(text[start:end], over) for start, end, over in _stretches(marks, len(text))]
    return f'<div class="onym" style="white-space:pre-wrap;line-height:1.7">{"".join(parts)}</div>'


def _stretches(marks: Iterable[Mark], length: int) -> Iterator[tuple[int, int, list[Mark]]]:
    """Yield a text of this length cut at the ends of all marks, each stretch with the marks that cover it."""
    waiting = sorted(marks, key=lambda mark: mark.start, reverse=True)
    edges = {edge for mark in waiting for edge in (mark.start, mark.end)}
    over: list[Mark] = []
    for start, end in pairwise(sorted({0, length, *edges})):
        while waiting and waiting[-1].start <= start:
            over.append(waiting.pop())
        over = [mark for mark in over if mark.end > start]
        yield start, end, over


def _marked(text: str, marks: Sequence[Mark]) -> str:
    if not marks:
        return escape(text)
    title = escape("\n\n".join(mark.title for mark in marks))
    types = [mark.type for mark in marks if mark.type is not None]
    style = f"background:{_colour(types[0])};border-radius:3px" if types else _UNLINKED
    return f'<mark style="{style}" title="{title}">{escape(text)}</mark>'


def _colour(name: str) -> str:
    return _COLOURS[sum(name.encode()) % len(_COLOURS)]
