"""Matches a short form such as `OR` to the words of its long form (`odds ratio`): word lists, text layout, matching rules."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"[^\W_]+(?:['\u2019]s\b)?")


def each(words: str) -> tuple[str, ...]:
    """Split a whitespace-separated list of words."""
    return tuple(words.split())


STOP_WORDS = frozenset(
    each(
        "a about after against among an and are as at be been between by can during for from has have in into is its of on or "
        "our over per plus than that the their through to under upon using versus via vs was were when where whereas which who "
        "while with within without"
    )
)
"""Words that need no letter in the short form; a long form does not begin with one of them."""

CLAUSE_WORDS = frozenset(
    each(
        "are be been called can contain contains designated encodes had has have is its may named not our that their termed "
        "these this was we were when whereas which while who whose"
    )
)
"""Words that mark a clause; a long form is a noun phrase, so a candidate that contains one is rejected."""

NEVER_SHORT = frozenset(
    each(
        "age aged data days e.g eg fig figs hours i i.e ie ii iii iv ix mean median months n no not patients range "
        "respectively see table v vi vii viii vs x year years"
    )
)
"""Bracketed texts that are never short forms: references, numbering, statistics."""

CUES = frozenset(
    each(
        "abbreviated abbreviation also as by called denoted designated for hereafter herein ie its known named or referred "
        "symbol termed the to"
    )
)
"""Words that may introduce a short or a long form inside a bracket: `(or FHL)`, `(termed PPP4R2)`."""

NUMBER_WORDS = {
    "1": ("one", "first", "mono", "single", "i"),
    "2": ("two", "second", "di", "bi", "double", "ii"),
    "3": ("three", "third", "tri", "triple", "iii"),
    "4": ("four", "fourth", "tetra", "quadr", "iv"),
    "5": ("five", "fifth", "penta", "v"),
    "6": ("six", "sixth", "hexa", "vi"),
    "7": ("seven", "seventh", "hepta", "vii"),
    "8": ("eight", "eighth", "octa", "viii"),
    "9": ("nine", "ninth", "nona", "ix"),
}
"""Words that a digit of a short form may represent; those of more than two letters also match as a prefix."""

GREEK_NAMES = each(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi "
    "omega"
)
GREEK_LETTERS = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", GREEK_NAMES, strict=True)) | {"\u00b5": "mu"}  # U+00B5 is the micro sign


@dataclass(frozen=True, slots=True)
class Word:
    """A run of letters and digits, including a possessive `'s`. `lower` is `raw` in lower case, with the same length."""

    raw: str
    lower: str
    start: int
    end: int


class Words:
    """The words of a text, in order. `Word` objects are created on first access, because most are never needed.

    >>> words = Words("Alzheimer's beta-amyloid (A4)")
    >>> [words[number].raw for number in range(len(words))], words.starts
    (["Alzheimer's", 'beta', 'amyloid', 'A4'], [0, 12, 17, 26])
    """

    def __init__(self, text: str) -> None:
        self.starts = [found.start() for found in _WORD.finditer(text)]
        self._text = text
        self._made: dict[int, Word] = {}

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> Word:
        word = self._made.get(number)
        if word is None:
            start = self.starts[number]
            found = _WORD.match(self._text, start)
            raw = found.group() if found else ""
            word = self._made[number] = Word(raw, _lower(raw), start, start + len(raw))
        return word


def _lower(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(char.lower()[0] for char in text)


_OPENING, _CLOSING = "([{", ")]}"
_BRACKET = re.compile(r"[()\[\]{}]")
_TOKEN = re.compile(r"\S+")
_MAX_STEPS = 100
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"
# A full stop after a single letter does not end a sentence: `S. aureus protein A (spa)`.
# The pattern starts with the mark and checks the text before it by look-behind, so it fails fast at other characters.
_SENTENCE_END = re.compile(
    r"[.!?;:\n](?:(?:(?<=[^\W_]{2}[.!?])|(?<=[\])\"'%][.!?]))[\])\"']?\s++(?=[^a-z(\[])|(?<=[;:])\s|(?<=\n)[ \t\r]*+\n)"
)
# Maximum characters between two words of a long form, and maximum bracketed asides in it. They keep the run time linear.
_WIDEST_GAP = 40
_MAX_ASIDES = 2


@dataclass(frozen=True, slots=True)
class Bracket:
    """Offsets of a pair of brackets. `inside_of` is where the enclosing bracket's content begins (0 at the top level)."""

    start: int
    end: int
    inside_of: int


@dataclass(frozen=True, slots=True)
class Region:
    """Words in which to search for a long form. The last `near` words come after the last comma and the last aside."""

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
        """Return the start of the sentence that contains `offset`."""
        return self._sentence_starts[bisect_right(self._sentence_starts, offset) - 1]

    def token_start(self, offset: int) -> int:
        """Return the start of the whitespace-delimited token that contains `offset`.

        Scans back up to 100 characters first, and tokenises the whole text only if that does not reach the start.
        """
        text = self.text
        if not text[offset].isspace():
            for start in range(offset, max(offset - _MAX_STEPS, -1), -1):
                if start == 0 or text[start - 1].isspace():
                    return start
        return self._token_starts[bisect_right(self._token_starts, offset) - 1]

    def word_before(self, offset: int) -> int:
        """Return the index of the last word that begins before `offset`, or -1 if there is none."""
        return bisect_left(self.words.starts, offset) - 1

    def is_attached(self, offset: int) -> bool:
        """Return whether the character before `offset` is not a space, as before the bracket of `E(2)`."""
        return offset > 0 and not self.text[offset - 1].isspace()

    def trim(self, start: int, end: int) -> tuple[int, int]:
        """Return a span without white space and quotation marks at its ends."""
        while start < end and (self.text[start].isspace() or self.text[start] in _QUOTES):
            start += 1
        while start < end and (self.text[end - 1].isspace() or self.text[end - 1] in _QUOTES):
            end -= 1
        return start, end

    def region(self, start: int, end: int, max_words: int) -> Region:
        """Return the last `max_words` words (or fewer) between two offsets, skipping bracketed asides."""
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
        """Return the start of the bracketed aside whose closing bracket is in `start:end`, or None if there is none."""
        for offset in range(start, end):
            if self.text[offset] in _CLOSING:
                opening = self._opening_of.get(offset)
                if opening is not None and not self.is_attached(opening):
                    return opening
        return None


def _brackets(text: str) -> list[Bracket]:
    """Return the pairs of brackets, sorted by start; unmatched brackets are skipped."""
    pending: list[int] = []
    pairs: list[Bracket] = []
    for found in _BRACKET.finditer(text):
        if found[0] in _OPENING:
            pending.append(found.start())
        elif pending:
            start = pending.pop()
            pairs.append(Bracket(start, found.start(), pending[-1] + 1 if pending else 0))
    return sorted(pairs, key=lambda pair: pair.start)


Spelling = Callable[[Word, str], bool]

# Combining forms (Greek, Latin, chemical) at which a new part of a compound word begins.
_PARTS = each(
    "acet amid amin aryl benz blast but carb cardi cell chlor chol chrom cycl cyt deox electr encephal enzym eth ferr fluor "
    "gen glob gluc glyc gram graph hepat hist hydr immun iod kin lip lymph lys macr meth micr morph myel neur nitr nucl oct "
    "ox path pent phen phil phob phor phosph plasm plast prop prot pyr quin rib som ster sulf sulph therap thi thym tom tox "
    "transfer trop troph tub vir vit zyg"
)
_X_WORDS = ("ex", "trans", "cross")
_MAX_WORD = 80  # characters; longer words are not searched for letters in order, to keep the run time linear


def initial(word: Word, letters: str) -> bool:
    """Match the first letter of a word; also `2` to "two", `x` to ex-, trans- and cross-, and Greek letters to their names."""
    if len(letters) > 1:
        return False
    if word.lower[0] == letters:
        return True
    if letters == "x":
        return word.lower.startswith(_X_WORDS)
    if letters in NUMBER_WORDS:
        return any(word.lower == name or (len(name) > 2 and word.lower.startswith(name)) for name in NUMBER_WORDS[letters])
    return GREEK_LETTERS.get(letters) == word.lower or spelt_out(word).startswith(letters)


def beginning(word: Word, letters: str) -> bool:
    """Match one or more letters to the beginning of the word: `cyt` for cytotrophoblasts, or `beta` for a Greek letter."""
    return spelt_out(word).startswith(letters) or word.lower.startswith(letters) or initial(word, letters)


def parts(word: Word, letters: str) -> bool:
    """Match the first letters of the parts of a compound: `EEG` for electroencephalogram."""
    return beginning(word, letters) or (word.lower[0] == letters[0] and _has_in_order(word, letters, 1, at_parts=True))


def match_scattered(word: Word, letters: str) -> bool:
    """Match the first letter of the word and any later letters, in order: `CT` for cytotrophoblasts."""
    return initial(word, letters) or (word.lower[0] == letters[0] and _has_in_order(word, letters, 1))


def anywhere(word: Word, letters: str) -> bool:
    """Match any letters of the word, in order: `X` for box."""
    return _has_in_order(word, letters, 0)


def spelt_out(word: Word) -> str:
    """Return a word in lower case; for a Greek letter, return its name."""
    return GREEK_LETTERS.get(word.lower, word.lower)


def _has_in_order(word: Word, letters: str, first: int, *, at_parts: bool = False) -> bool:
    """Return whether the word contains `letters[first:]` in order. With `at_parts`, letters must begin parts of a compound."""
    if len(word.lower) > _MAX_WORD:
        return False
    offset = first - 1
    for letter in letters[first:]:
        offset = word.lower.find(letter, offset + 1)
        while at_parts and offset > 0 and not _begins_part(word, offset):
            offset = word.lower.find(letter, offset + 1)
        if offset < 0:
            return False
    return True


def _begins_part(word: Word, offset: int) -> bool:
    here, before = word.raw[offset], word.raw[offset - 1]
    if here.isupper() or here.isdigit() != before.isdigit():
        return True
    return before in "oy" or word.lower.startswith(_PARTS, offset)


Reading = Callable[[str], Iterator[str]]


def verbatim(short: str) -> Iterator[str]:
    """Yield the short form in lower case, with letters and digits only."""
    yield "".join(char for char in short.lower() if char.isalnum())


def without_digits(short: str) -> Iterator[str]:
    """If the short form has digits, yield its letters only: `PTS1` for peroxisomal targeting signal."""
    if any(char.isdigit() for char in short):
        yield "".join(char for char in short.lower() if char.isalpha())


def rotate_at_breaks(short: str) -> Iterator[str]:
    """Move the characters before a hyphen, bracket, digit or change of case to the end: `TAS-20` becomes `20tas`.

    >>> list(rotate_at_breaks("L1CAM"))
    ['1caml', 'caml1']
    """
    letters = next(verbatim(short))
    count = 0
    for before, char in zip(" " + short, short, strict=False):
        if char.isalnum():
            if count and (not before.isalnum() or before.isdigit() != char.isdigit() or before.isupper() != char.isupper()):
                yield letters[count:] + letters[:count]
            count += 1


def rotate_letters(short: str) -> Iterator[str]:
    """If the short form is in capitals, move its first letters to the end: `DM` for myotonic dystrophy."""
    if short.isupper():
        letters = next(verbatim(short))
        yield from (letters[cut:] + letters[:cut] for cut in range(1, len(letters)))


@dataclass(frozen=True, slots=True)
class Strategy:
    """A rule for matching a short form to words. It may skip `skips` words inside the long form and `tail` words at its end.

    A rule that `reaches_far` may cross commas and bracketed asides. A `tidy` rule is precise enough to be used even if there is
    no space before the bracket.
    """

    name: str
    spelling: Spelling
    reading: Reading = verbatim
    over_stop_words: bool = True
    skips: int = 0
    tail: int = 0
    min_letters: int = 2
    reaches_far: bool = False
    tidy: bool = False


STRATEGIES = (
    Strategy("first-letters", initial, over_stop_words=False, reaches_far=True, tidy=True),
    Strategy("first-letters-over-stop-words", initial, reaches_far=True, tidy=True),
    Strategy("word-beginnings", beginning, reaches_far=True, tidy=True),
    Strategy("word-parts", parts, over_stop_words=False, reaches_far=True, tidy=True),
    Strategy("letters-of-words", match_scattered, tidy=True),
    Strategy("first-letters-skip", initial, skips=1, min_letters=3),
    Strategy("word-parts-skip", parts, skips=1),
    Strategy("first-letters-tail", initial, tail=1),
    Strategy("first-letters-long-tail", initial, tail=2, min_letters=3),
    Strategy("word-parts-tail", parts, tail=1),
    Strategy("turned", initial, rotate_letters, over_stop_words=False),
    Strategy("rotated", beginning, rotate_at_breaks, skips=1, tail=1),
    Strategy("without-digits", parts, without_digits),
    Strategy("first-letters-skip-two", initial, skips=2, min_letters=3),
    Strategy("letters-of-words-skip-two", match_scattered, skips=2, min_letters=3),
    Strategy("letters-of-words-tail", match_scattered, skips=2, tail=2, min_letters=3),
    Strategy("letters-in-order", anywhere, skips=2, tail=1, min_letters=3),
)


def first_word(letters: str, words: Sequence[Word], strategy: Strategy, *, anchored: bool = False) -> int | None:
    """Return the index of the first word of the long form, or None; if `anchored`, only index 0 is accepted.

    Uses dynamic programming from the last word to the first. A state is (letters left to match, words skipped), so the run
    time depends on the number of letters and words, not on the number of ways to combine them.
    """
    if len(letters) < strategy.min_letters:
        return None
    whole = len(letters)
    states = {(whole, 0)}
    for number in range(len(words) - 1, -1, -1):
        following: set[tuple[int, int]] = set()
        for left, passed in states:
            for rest in _spelt(letters, left, words[number], strategy.spelling):
                if rest:
                    following.add((rest, passed if left < whole else 0))
                elif (number == 0 or not anchored) and initial(words[number], letters[0]):
                    return number
            now = passed + _cost(words, number, strategy, inside=left < whole)
            if now <= (strategy.skips if left < whole else strategy.tail):
                following.add((left, now))
        if not following:
            return None
        states = following
    return None


def _spelt(letters: str, left: int, word: Word, spelling: Spelling) -> Iterator[int]:
    """Match suffixes of `letters[:left]` to the word; for each that matches, yield how many letters are left before it."""
    for rest in range(left - 1, max(left - len(spelt_out(word)), 0) - 1, -1):
        if spelling(word, letters[rest:left]):
            yield rest


def _cost(words: Sequence[Word], number: int, strategy: Strategy, *, inside: bool) -> int:
    """Return the cost of skipping a word: 0 for numbers, single letters (chemical names), stop words and `type`, else 1."""
    word = words[number]
    is_joined = number + 1 < len(words) and words[number + 1].start == word.end + 1
    if word.raw.isdigit() or (len(word.raw) == 1 and is_joined):
        return 0
    may_pass = strategy.over_stop_words and (word.lower in STOP_WORDS or len(word.raw) == 1)
    return 0 if inside and (may_pass or word.lower == "type") else 1
