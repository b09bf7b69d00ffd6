"""Where a text may define an abbreviation: pairs of a short form and the stretch in which its long form may stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from onym.text.abbreviations._filters import may_be_short
from onym.text.abbreviations._layout import Bracket, Layout
from onym.text.abbreviations._words import CUES
from onym.types import Offsets

_SEPARATOR = re.compile(r"[;,:]\s|\s(?:or|and)\s")
_ANNOUNCEMENT = re.compile("abbreviated", re.IGNORECASE)
_MAX_BRACKET = 300
_MAX_SHORT = 16
_MAX_TOKEN = 100  # with quotation marks; the bound keeps the time linear


@dataclass(frozen=True, slots=True)
class Candidate:
    """A short form, and the text from `start` to `end` in which its long form ends, or, if `anchored`, which it fills.

    `siblings` are the other items in the bracket of the short form. `tidy` asks for the strictest rules.
    """

    short_start: int
    short_end: int
    start: int
    end: int
    anchored: bool = False
    tidy: bool = False
    siblings: tuple[str, ...] = ()


def candidates_of(layout: Layout, bracket: Bracket) -> Iterator[Candidate]:
    """Yield what a bracket may define, the likeliest first."""
    if bracket.end - bracket.start <= _MAX_BRACKET:
        items = _items(layout, bracket.start + 1, bracket.end)
        for find in (_long_before, _both_inside, _equation, _short_before):
            yield from find(layout, bracket, items)


def announced(layout: Layout) -> Iterator[Candidate]:
    """Yield what follows `abbreviated as`, outside of brackets too."""
    for found in _ANNOUNCEMENT.finditer(layout.text):
        number = layout.word_before(found.start() + 1)
        if 0 < number < len(layout.words) - 1 and layout.words[number].lower == "abbreviated":
            after = number + 1
            if layout.words[after].lower in {"as", "to", "by"} and after + 1 < len(layout.words):
                after += 1
            before = number - 1
            if before and layout.words[before].lower in {"hereafter", "commonly", "often", "usually", "is", "was"}:
                before -= 1
            start, end = layout.words[after].start, layout.words[before].end
            token = layout.text[start : start + _MAX_SHORT].split()[0].rstrip(".,;:")
            yield Candidate(start, start + len(token), layout.sentence_start(end), end)


def _long_before(layout: Layout, bracket: Bracket, items: list[Offsets]) -> Iterator[Candidate]:
    """`odds ratio (OR)`, `(OR; P < 0.05)`, `(or OR)`, `(EC 1.15.1.1; SOD)`."""
    begin = max(bracket.inside_of, layout.sentence_start(bracket.start))
    first, last = items[0], items[-1]
    spans = dict.fromkeys((first, (_after_cues(layout, *first), first[1])))
    if not may_be_short(layout.text[slice(*first)]):
        spans[last] = None
    for start, end in spans:
        if len(items) > 1 and layout.text[start:end].islower():
            continue  # `(range, 1-19)`, `(with or without)`
        siblings = tuple(layout.text[slice(*item)] for item in items if item[1] != end)
        yield Candidate(start, end, begin, bracket.start, tidy=layout.is_attached(bracket.start), siblings=siblings)


def _both_inside(_layout: Layout, bracket: Bracket, items: list[Offsets]) -> Iterator[Candidate]:
    """`(blood-brain barrier, BBB)` and `(BBB, blood-brain barrier)`."""
    if len(items) > 1:
        yield Candidate(*items[-1], bracket.start + 1, items[-2][1])
        yield Candidate(*items[0], *items[1], anchored=True)


def _equation(layout: Layout, bracket: Bracket, _all: list[Offsets]) -> Iterator[Candidate]:
    """`(AI = artificial insemination)` and the other way round."""
    sign = layout.text.find("=", bracket.start, bracket.end)
    if sign > 0:
        left = layout.trimmed(bracket.start + 1, sign)
        right = _items(layout, sign + 1, bracket.end)[0]
        yield Candidate(*left, *right, anchored=True)
        yield Candidate(*right, *left, anchored=True)


def _short_before(layout: Layout, bracket: Bracket, items: list[Offsets]) -> Iterator[Candidate]:
    """`OR (odds ratio)`, `PAM (for PABP-interacting motif)`."""
    end = bracket.start
    while end > bracket.inside_of and layout.text[end - 1].isspace():
        end -= 1
    if end == bracket.inside_of:
        return
    start, end = layout.trimmed(max(bracket.inside_of, layout.token_start(end - 1), end - _MAX_TOKEN), end)
    short = layout.text[start : min(end, start + _MAX_SHORT + 1)]
    if 1 < len(short) <= _MAX_SHORT and short != short.lower():
        begin = _after_cues(layout, bracket.start + 1, bracket.end)
        for stop in dict.fromkeys((items[0][1], bracket.end)):
            yield Candidate(start, end, begin, stop, anchored=True)


def _items(layout: Layout, start: int, end: int) -> list[Offsets]:
    """Return the parts of a stretch between commas, semicolons, colons, `or` and `and`."""
    items = []
    for found in _SEPARATOR.finditer(layout.text, start, end):
        items.append(layout.trimmed(start, found.start()))
        start = found.end()
    return [*items, layout.trimmed(start, end)]


def _after_cues(layout: Layout, start: int, end: int) -> int:
    """Return where a stretch begins without the words that only introduce it."""
    number = layout.word_before(start) + 1
    while number < len(layout.words) and layout.words[number].end < end and layout.words[number].lower in CUES:
        number += 1
        start = layout.words[number].start if number < len(layout.words) else end
    return min(start, end)
