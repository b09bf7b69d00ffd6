"""Schwartz and Hearst's algorithm as published (PSB 2003) and as in their program, for comparison.

Candidates are `long form (short form)` and `short form (long form)`. The letters of the short form are looked for from right
to left, the first of them at the beginning of a word, and the shortest stretch that has them all is the long form.
"""

from __future__ import annotations

import re

from onym.text.abbreviations._definition import Abbreviation
from onym.types import Offsets

_WHITE = re.compile(r"\s")


def plain_schwartz_hearst(text: str) -> list[Abbreviation]:
    """Return the definitions that the published algorithm finds in a text, in order.

    >>> [(found.short, found.long) for found in plain_schwartz_hearst("The heat shock protein (HSP) was seen.")]
    [('HSP', 'heat shock protein')]
    """
    spaced = _WHITE.sub(" ", text)  # the program reads lines and joins them by spaces
    found: list[Abbreviation] = []
    done = 0
    while (opening := spaced.find(" (", done) + 1) and (closing := spaced.find(")", opening)) >= 0:
        if spaced.find("(", opening + 1, closing) >= 0 and (second := spaced.find(")", closing + 1)) >= 0:
            closing = second
        pair = _pair(spaced, done, opening, closing)
        if pair and (definition := _definition(text, *pair)):
            found.append(definition)
        done = closing + 1
    return found


def _pair(text: str, done: int, opening: int, closing: int) -> tuple[Offsets, Offsets] | None:
    """Return the spans of the short form and of the text that holds the long form."""
    clause = max(text.rfind(". ", done, opening), text.rfind(", ", done, opening))
    before = (clause + 2 if clause >= 0 else done, opening)
    inside = (opening + 1, min([closing, *(cut for sign in (", ", "; ") if (cut := text.find(sign, opening, closing)) >= 0)]))
    if closing - opening < 3 or before[1] - before[0] < 2:
        return None
    content = text[slice(*inside)]
    if len(content.split()) > 2 or len(content) > before[1] - before[0]:
        space = text.rfind(" ", done, opening - 1)
        short = (max(space + 1, done), opening - 1)
        return (short, inside) if any(map(str.isupper, text[slice(*short)])) else None
    return inside, before


def _definition(text: str, short_span: Offsets, long_span: Offsets) -> Abbreviation | None:
    short_start, short_end = _stripped(text, *short_span)
    start, end = _stripped(text, *long_span)
    short = text[short_start:short_end]
    if len(short) < 2 or not any(map(str.isalpha, short)) or not (short[0].isalnum() or short[0] == "("):
        return None
    begin = _best_long_form(short, text[start:end])
    if begin is None:
        return None
    long = text[start + begin : end]
    words = len(long.replace("-", " ").split())
    letters = sum(map(str.isalnum, short))
    is_wrong = len(long) < len(short) or short + " " in long or long.endswith(short)
    if is_wrong or words > min(letters * 2, letters + 5) or letters > 10:
        return None
    return Abbreviation(short, long, short_start, short_end, start + begin, end, "schwartz-hearst")


def _best_long_form(short: str, long: str) -> int | None:
    """Return where the long form begins in the text before the bracket (the paper's figure 1)."""
    offset = len(long)
    for number in range(len(short) - 1, -1, -1):
        letter = short[number].lower()
        if not letter.isalnum():
            continue
        offset -= 1
        while offset >= 0 and (long[offset].lower() != letter or (number == 0 and offset > 0 and long[offset - 1].isalnum())):
            offset -= 1
        if offset < 0:
            return None
    while offset > 0 and not long[offset - 1].isspace():
        offset -= 1
    return offset


def _stripped(text: str, start: int, end: int) -> Offsets:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end
