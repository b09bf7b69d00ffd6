"""How a text is laid out: words, sentences and brackets, found once for all candidates, if there are any."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

from onym.text.abbreviations._words import Word, Words

_OPENING, _CLOSING = "([{", ")]}"
_BRACKET = re.compile(r"[()\[\]{}]")
_TOKEN = re.compile(r"\S+")
_MAX_STEPS = 100
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"
# A full stop after one letter alone does not end a sentence: `S. aureus protein A (spa)`.
# The mark comes first, and what must stand before it is looked back at: so most characters are passed over at once.
_SENTENCE_END = re.compile(
    r"[.!?;:\n](?:(?:(?<=[^\W_]{2}[.!?])|(?<=[\])\"'%][.!?]))[\])\"']?\s++(?=[^a-z(\[])|(?<=[;:])\s|(?<=\n)[ \t\r]*+\n)"
)
# No long form has more between two of its words, or more asides. The bounds keep the time linear.
_WIDEST_GAP = 40
_MAX_ASIDES = 2


@dataclass(frozen=True, slots=True)
class Bracket:
    """A pair of brackets, from the opening to the closing one. `inside_of` is where the text around it begins."""

    start: int
    end: int
    inside_of: int


@dataclass(frozen=True, slots=True)
class Region:
    """Words among which a long form may be; `near` of them, from the end, stand after the last comma and the last aside."""

    words: list[Word]
    near: int


class Layout:
    """A text with its words, sentences and brackets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.brackets = _brackets(text)
        self._opening_of = {bracket.end: bracket.start for bracket in self.brackets}

    @cached_property
    def words(self) -> Words:
        """The words of the text."""
        return Words(self.text)

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [0, *(found.end() for found in _SENTENCE_END.finditer(self.text))]

    @cached_property
    def _token_starts(self) -> list[int]:
        return [found.start() for found in _TOKEN.finditer(self.text)]

    def sentence_start(self, offset: int) -> int:
        """Return where the sentence begins that holds an offset."""
        return self._sentence_starts[bisect_right(self._sentence_starts, offset) - 1]

    def token_start(self, offset: int) -> int:
        """Return where the run without white space begins that holds an offset: it is near, or all are found."""
        text = self.text
        if not text[offset].isspace():
            for start in range(offset, max(offset - _MAX_STEPS, -1), -1):
                if start == 0 or text[start - 1].isspace():
                    return start
        return self._token_starts[bisect_right(self._token_starts, offset) - 1]

    def word_before(self, offset: int) -> int:
        """Return the number of the last word that begins before an offset; -1 if there is none."""
        return bisect_left(self.words.starts, offset) - 1

    def is_attached(self, offset: int) -> bool:
        """Tell whether what begins at an offset follows without a space, as the bracket of `E(2)`."""
        return offset > 0 and not self.text[offset - 1].isspace()

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Return a span without white space and quotation marks at its ends."""
        while start < end and (self.text[start].isspace() or self.text[start] in _QUOTES):
            start += 1
        while start < end and (self.text[end - 1].isspace() or self.text[end - 1] in _QUOTES):
            end -= 1
        return start, end

    def region(self, start: int, end: int, max_words: int) -> Region:
        """Return at most `max_words` words between two offsets, the last ones, without asides in brackets of their own."""
        words: list[Word] = []
        near: int | None = None
        asides = 0
        number, right = self.word_before(end), end
        while number >= 0 and len(words) < max_words:
            word = self.words[number]
            if word.start < start or right - word.end > _WIDEST_GAP:
                break
            aside = self._aside(word.end, right)
            if near is None and words and (aside is not None or ", " in self.text[word.end : right]):
                near = len(words)
            if aside is None:
                words.append(word)
                number, right = number - 1, word.start
            elif aside >= start and asides < _MAX_ASIDES:
                asides += 1
                number, right = self.word_before(aside), aside
            else:
                break
        words.reverse()
        return Region(words, len(words) if near is None else near)

    def _aside(self, start: int, end: int) -> int | None:
        """Return where an aside begins that closes between two places."""
        for offset in range(start, end):
            if self.text[offset] in _CLOSING:
                opening = self._opening_of.get(offset)
                if opening is not None and not self.is_attached(opening):
                    return opening
        return None


def _brackets(text: str) -> list[Bracket]:
    """Return the pairs of brackets in the order of their beginnings; brackets without a partner are left out."""
    pending: list[int] = []
    pairs: list[Bracket] = []
    for found in _BRACKET.finditer(text):
        if found[0] in _OPENING:
            pending.append(found.start())
        elif pending:
            start = pending.pop()
            pairs.append(Bracket(start, found.start(), pending[-1] + 1 if pending else 0))
    return sorted(pairs, key=lambda pair: pair.start)
