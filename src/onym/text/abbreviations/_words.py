"""The words of a text, with their places, and the small closed lists of words that the rules need."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:['\u2019]s\b)?")


def each(words: str) -> tuple[str, ...]:
    """Return the words of a list that is written as a text."""
    return tuple(words.split())


STOP_WORDS = frozenset(
    each(
        "a about after against among an and are as at be been between by can during for from has have in into is its of on or "
        "our over per plus than that the their through to under upon using versus via vs was were when where whereas which who "
        "while with within without"
    )
)
"""Words that a short form may pass over, and with which a long form does not begin."""

CLAUSE_WORDS = frozenset(
    each(
        "are be been called can contain contains designated encodes had has have is its may named not our that their termed "
        "these this was we were when whereas which while who whose"
    )
)
"""Words of a whole clause; a long form is a noun or an adjective with what belongs to it, and has none of them."""

NEVER_SHORT = frozenset(
    each(
        "age aged data days e.g eg fig figs hours i i.e ie ii iii iv ix mean median months n no not patients range "
        "respectively see table v vi vii viii vs x year years"
    )
)
"""What often stands in brackets and is no short form: references, numbering, statistics."""

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
"""What a digit of a short form may stand for; those of more than two letters also as the beginning of a word."""

GREEK_NAMES = each(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi "
    "omega"
)
GREEK_LETTERS = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", GREEK_NAMES, strict=True)) | {"\u00b5": "mu"}  # the micro sign


@dataclass(frozen=True, slots=True)
class Word:
    """A run of letters and digits, with its possessive `'s`. `lower` is for comparing, and as long as `raw`."""

    raw: str
    lower: str
    start: int
    end: int


class Words:
    """The words of a text, in order. A word is made when it is first looked at, and most never are.

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
            word = self._made[number] = Word(raw, _lowered(raw), start, start + len(raw))
        return word


def _lowered(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(char.lower()[0] for char in text)
