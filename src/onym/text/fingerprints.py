"""Many texts at once as arrays: where their words stand in the normal form, and a number for any run of words.

The number of a run, its fingerprint, is a polynomial of its code points, modulo 2**64. Sums over all texts give that of any run
by one subtraction: nothing is done in Python for each character or word. Equal runs have equal fingerprints. Two others may
have equal ones too, if rarely: whoever finds a fingerprint has to compare the strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from unicodedata import category

import numpy as np
import numpy.typing as npt

from onym.text.boundaries import INVISIBLE
from onym.text.normal import PUNCTUATION

Ints = npt.NDArray[np.int64]
Fingerprints = npt.NDArray[np.uint64]

_BASE = 0x9E3779B97F4A7C15  # odd, so that it can be divided by, and as good as random
_INVERSE = pow(_BASE, -1, 2**64)
_OTHER, _SPACE, _WORD, _ODD = range(4)  # kinds of characters
_ASCII = 128


@dataclass(frozen=True)
class Numbered:
    """Code points, with the fingerprint of any stretch of them.

    >>> codes = Numbered(np.frombuffer(b"fever, no fever", dtype=np.uint8))
    >>> one, other = codes.fingerprints(np.array([0, 10]), np.array([5, 15])).tolist()
    >>> one == other
    True
    """

    codes: npt.NDArray[Any]

    @cached_property
    def _sums(self) -> Fingerprints:
        """*Shape:* (code points + 1,). The sum of everything before."""
        sums = np.zeros(len(self.codes) + 1, dtype=np.uint64)
        values = self.codes.astype(np.uint64)
        values += np.uint64(1)
        values *= _powers(_BASE, len(values))[: len(values)]
        np.cumsum(values, out=sums[1:])
        return sums

    def fingerprints(self, starts: Ints, ends: Ints) -> Fingerprints:
        """Return the fingerprints of stretches. *Shape:* as that of `starts` and of `ends`."""
        sums = self._sums
        return (sums[ends] - sums[starts]) * _powers(_INVERSE, len(sums))[starts]


class NormalTexts:
    """The words of many texts in the normal form of names, as `TextAnalysis.normalised` has them for one text.

    `text` holds the normal forms of all texts, one after the other. Its words stand from `starts` to `ends`; `owners` says of
    which text each is. Texts in `odd` have no words here: theirs have marks or invisible characters, or grow in lower case.

    >>> texts = NormalTexts(["No  Fever-X.", "Cough"])
    >>> [texts.text[start:end] for start, end in zip(texts.starts, texts.ends)], texts.owners.tolist()
    (['no', 'fever', 'x', 'cough'], [0, 0, 0, 1])
    >>> texts.raw_starts[1:3].tolist(), texts.raw_ends[1:3].tolist()
    ([4, 10], [9, 11])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.count = len(texts)
        lowered = [_lower(text) for text in texts]
        joined = "\n".join(text or "" for text in lowered)
        codes = code_points(joined)
        kinds = _kinds(codes)
        begins = np.cumsum([0, *(len(text or "") + 1 for text in lowered)])
        is_space = kinds == _SPACE
        kept = np.flatnonzero(~is_space | ~np.concatenate(([False], is_space[:-1])))
        codes = codes[kept]
        codes[is_space[kept]] = ord(" ")
        starts, ends = _runs(kinds[kept] == _WORD)
        owners = np.searchsorted(begins, kept[starts], side="right") - 1
        has_odd = np.array([text is None for text in lowered], dtype=bool)
        has_odd[np.searchsorted(begins, np.flatnonzero(kinds == _ODD), side="right") - 1] = True
        self.odd = frozenset(np.flatnonzero(has_odd).tolist())
        if self.odd:
            is_plain = ~has_odd[owners]
            starts, ends, owners = starts[is_plain], ends[is_plain], owners[is_plain]
        self.text = _text(codes)
        self.numbered = Numbered(codes)
        self.starts, self.ends, self.owners = starts, ends, owners
        self.raw_starts: Ints = kept[starts] - begins[owners]
        self.raw_ends: Ints = kept[ends - 1] + 1 - begins[owners]


def code_points(text: str) -> npt.NDArray[Any]:
    """Return the code points of a text, as bytes where they fit.

    >>> code_points("ab").dtype, code_points("\\u03b2").tolist()
    (dtype('uint8'), [946])
    """
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def word_ends(codes: npt.NDArray[Any]) -> Ints:
    """Return where runs of letters and digits end.

    >>> word_ends(code_points("type 2:b")).tolist()
    [4, 6, 8]
    """
    return _runs(_kinds(codes) == _WORD)[1]


def _lower(text: str) -> str | None:
    """Return a text in lower case; None if that is longer."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else None


def _text(codes: npt.NDArray[Any]) -> str:
    data = codes.tobytes()
    return data.decode("ascii") if codes.dtype == np.uint8 else data.decode("utf-32-le", "surrogatepass")


def _runs(is_inside: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return where runs of True begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_inside, [False])).astype(np.int8)))
    return edges[::2], edges[1::2]


def _kinds(codes: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the kind of each code point: those beyond ASCII are few, and looked at once each."""
    kinds: npt.NDArray[np.uint8] = _ascii_kinds()[np.minimum(codes, _ASCII)]
    others = np.flatnonzero(codes >= _ASCII)
    distinct, which = np.unique(codes[others], return_inverse=True)
    kinds[others] = np.array([_kind(chr(code)) for code in distinct.tolist()], dtype=np.uint8)[which]
    return kinds


@lru_cache(1)
def _ascii_kinds() -> npt.NDArray[np.uint8]:
    return np.array([*(_kind(chr(code)) for code in range(_ASCII)), _OTHER], dtype=np.uint8)


@lru_cache(10_000)
def _kind(char: str) -> int:
    """Return the kind of a character, as `onym.text.boundaries` says what a word is."""
    if char in PUNCTUATION or char.isspace():
        return _SPACE
    if char.isalnum():
        return _WORD
    return _ODD if char in INVISIBLE or category(char).startswith("M") else _OTHER


def _powers(base: int, count: int) -> Fingerprints:
    """Return at least `count` powers of a number, from the first on."""
    return _some_powers(base, max(16, count.bit_length()))


@lru_cache(16)
def _some_powers(base: int, bits: int) -> Fingerprints:
    factors = np.full(1 << bits, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors)
