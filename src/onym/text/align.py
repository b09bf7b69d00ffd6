"""Normalised text that remembers where it came from: every character knows the raw code points it stands for.

The raw text is never altered. A step of normalisation replaces stretches of text; composing steps composes their maps.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, reduce
from itertools import repeat

from onym.text.normal import PUNCTUATION

Stretch = tuple[int, int, str]
"""From `start` to `end` of the text before, and what stands there now; an empty replacement drops it."""
Step = Callable[[str], Iterable[Stretch]]

_SPACES = re.compile(r"\s+")
_TO_SPACE = str.maketrans(dict.fromkeys(PUNCTUATION, " "))
_ASCII = re.compile(r"[\x00-\x7f]+")


@dataclass(frozen=True, slots=True)
class Aligned:
    """A normalised `text` over a `raw` one. `starts[i]` and `ends[i]` bound the raw code points of its character `i`.

    >>> aligned = align("The  \\ufb01nal FEVER", lower, nfkc, collapse)
    >>> aligned.text
    'the final fever'
    >>> aligned.raw_span(4, 9)
    (5, 9)
    >>> aligned.norm_span(5, 9)
    (4, 9)
    """

    raw: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def raw_span(self, start_norm: int, end_norm: int) -> tuple[int, int]:
        """Return the raw span that a non-empty span of the normalised text stands for."""
        if not 0 <= start_norm < end_norm <= len(self.text):
            raise ValueError(f"no span from {start_norm} to {end_norm} in a text of {len(self.text)}")
        return self.starts[start_norm], self.ends[end_norm - 1]

    def norm_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the normalised text that stands for a raw span; empty where nothing of it is left."""
        if not 0 <= start <= end <= len(self.raw):
            raise ValueError(f"no span from {start} to {end} in a text of {len(self.raw)}")
        first = bisect_right(self.ends, start)
        return first, max(first, bisect_left(self.starts, end))


def align(raw: str, *steps: Step) -> Aligned:
    """Normalise `raw` by the steps, in order."""
    whole = Aligned(raw, raw, tuple(range(len(raw))), tuple(range(1, len(raw) + 1)))
    return reduce(_applied, steps, whole)


def _applied(before: Aligned, step: Step) -> Aligned:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end, new in step(before.text):
        pieces.append(new)
        if len(new) == end - start:  # character by character
            starts += before.starts[start:end]
            ends += before.ends[start:end]
        else:
            starts += repeat(before.starts[start], len(new))
            ends += repeat(before.ends[end - 1], len(new))
    return Aligned(before.raw, "".join(pieces), tuple(starts), tuple(ends))


def lower(text: str) -> Iterator[Stretch]:
    """Put in lower case, as `str.lower` does; the one character that grows (U+0130) is a stretch of its own."""
    lowered = text.lower()
    if len(lowered) == len(text):
        yield 0, len(text), lowered
        return
    done = grown = 0
    for place, char in enumerate(text):
        if (more := len(char.lower()) - 1) > 0:
            yield done, place, lowered[done + grown : place + grown]
            yield place, place + 1, char.lower()
            done, grown = place + 1, grown + more
    yield done, len(text), lowered[done + grown :]


def nfkc(text: str) -> Iterator[Stretch]:
    """Bring to Unicode's NFKC, cluster by cluster: normalising is not safe across a cut inside one."""
    place = 0
    while place < len(text):
        if plain := _ASCII.match(text, place):
            # The last character may begin a cluster with what follows it.
            end = plain.end() if plain.end() == len(text) else plain.end() - 1
            if end > place:
                yield place, end, text[place:end]
                place = end
                continue
        end = place + 1
        while end < len(text) and _continues(text[end]):
            end += 1
        yield place, end, unicodedata.normalize("NFKC", text[place:end])
        place = end


def punctuation(text: str) -> Iterator[Stretch]:
    """Put a space for each character of GenBioEL's punctuation."""
    yield 0, len(text), text.translate(_TO_SPACE)


def collapse(text: str) -> Iterator[Stretch]:
    """Make one space of every run of white space, and none of those at the ends."""
    place = 0
    for spaces in _SPACES.finditer(text):
        start, end = spaces.span()
        yield place, start, text[place:start]
        if start > 0 and end < len(text):
            yield start, end, " "
        place = end
    yield place, len(text), text[place:]


def _continues(char: str) -> bool:
    """Tell whether a character may change together with those before it."""
    return char > "\u02ff" and (unicodedata.combining(char) != 0 or char in _composing() or _begins_with_mark(char))


def _begins_with_mark(char: str) -> bool:
    decomposed = unicodedata.normalize("NFKD", char)
    return decomposed != char and (unicodedata.combining(decomposed[0]) != 0 or decomposed[0] in _composing())


@cache
def _composing() -> frozenset[str]:
    """Return the characters that may join the one before them: second in a canonical pair, or a Hangul vowel or final."""
    seconds = {chr(c) for c in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for code in range(0x110000):
        pair = unicodedata.decomposition(chr(code)).split()
        if len(pair) == 2 and not pair[0].startswith("<"):
            seconds.add(chr(int(pair[1], 16)))
    return frozenset(seconds)
