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
from onym.text.pattern import any_of

Stretch = tuple[int, int, str]
"""From `start` to `end` of the text before, and what stands there now; an empty replacement drops it."""
Step = Callable[[str], Iterable[Stretch]]

_SPACES = re.compile(r"\s{2,}|[^\S ]|\A | \Z")  # all but a single space between others
_TO_SPACE = str.maketrans(dict.fromkeys(PUNCTUATION, " "))


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
        if end - start == len(new) == len(before.text):
            return Aligned(before.raw, new, before.starts, before.ends)
        pieces.append(new)
        if len(new) == 1:
            starts.append(before.starts[start])
            ends.append(before.ends[end - 1])
        elif len(new) == end - start:  # character by character
            starts += before.starts[start:end]
            ends += before.ends[start:end]
        elif new:
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
    for offset, char in enumerate(text):
        if (more := len(char.lower()) - 1) > 0:
            yield done, offset, lowered[done + grown : offset + grown]
            yield offset, offset + 1, char.lower()
            done, grown = offset + 1, grown + more
    yield done, len(text), lowered[done + grown :]


def nfkc(text: str) -> Iterator[Stretch]:
    """Bring to Unicode's NFKC, cluster by cluster: normalising is not safe across a cut inside one."""
    if unicodedata.is_normalized("NFKC", text):
        yield 0, len(text), text
        return
    for cluster in _clusters().finditer(text):
        start, end = cluster.span()
        old = cluster.group()
        new = unicodedata.normalize("NFKC", old)
        if len(new) != end - start or new == old or len(old) == 1:
            yield start, end, new
        else:  # Characters that changed places or parts: each stands for the whole cluster.
            yield start, end, new[0]
            yield start, end, new[1:]


def punctuation(text: str) -> Iterator[Stretch]:
    """Put a space for each character of GenBioEL's punctuation."""
    yield 0, len(text), text.translate(_TO_SPACE)


def collapse(text: str) -> Iterator[Stretch]:
    """Make one space of every run of white space, and none of those at the ends."""
    offset = 0
    for spaces in _SPACES.finditer(text):
        start, end = spaces.span()
        yield offset, start, text[offset:start]
        if start > 0 and end < len(text):
            yield start, end, " "
        offset = end
    yield offset, len(text), text[offset:]


@cache
def _clusters() -> re.Pattern[str]:
    """Make the pattern of a run of characters that stay as they are, or of one and those that may change together with it."""
    chars = list(map(chr, range(0x110000)))
    decomposed = [(char, parts) for char, parts in zip(chars, map(unicodedata.decomposition, chars), strict=True) if parts]
    joined = {char for char, order in zip(chars, map(unicodedata.combining, chars), strict=True) if order}
    joined |= _seconds(decomposed)
    joined |= {char for char, _ in decomposed if unicodedata.normalize("NFKD", char)[0] in joined}
    changed = {char for char, _ in decomposed if unicodedata.normalize("NFKC", char) != char}
    restless = "".join(sorted(char for char in joined | changed if char <= "\uffff"))
    inside = any_of(joined)
    return re.compile(rf"[^{restless}\U00010000-\U0010ffff]+(?!{inside})|.{inside}*+", re.DOTALL)


def _seconds(decomposed: list[tuple[str, str]]) -> set[str]:
    """Return the characters that may join the one before them: second in a canonical pair, or a Hangul vowel or final."""
    pairs = [parts.split() for _, parts in decomposed if not parts.startswith("<")]
    hangul = map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)))
    return {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2} | set(hangul)
