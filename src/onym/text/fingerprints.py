"""Vectorised word spans and rolling hashes ("fingerprints") of many normalised texts at once.

The fingerprint of a run of characters is a polynomial hash of its code points, modulo 2**64. With prefix sums, the hash of any
run is one subtraction, without a Python loop over characters or words. Different runs have the same hash in rare cases, so a
match must be confirmed by comparing the strings.
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

_BASE = 0x9E3779B97F4A7C15  # an arbitrary odd number; it must be odd to have an inverse modulo 2**64
_INVERSE = pow(_BASE, -1, 2**64)
_OTHER, _SPACE, _WORD, _ODD = range(4)  # kinds of characters, returned by `_kind`
_ASCII = 128


@dataclass(frozen=True)
class Numbered:
    """An array of code points that can compute the fingerprint of any slice.

    >>> codes = Numbered(np.frombuffer(b"fever, no fever", dtype=np.uint8))
    >>> one, other = codes.fingerprints(np.array([0, 10]), np.array([5, 15])).tolist()
    >>> one == other
    True
    """

    codes: npt.NDArray[Any]

    @cached_property
    def _sums(self) -> Fingerprints:
        """Prefix sums of the hash terms. *Shape:* (code points + 1,)."""
        sums = np.zeros(len(self.codes) + 1, dtype=np.uint64)
        values = self.codes.astype(np.uint64)
        values += np.uint64(1)
        values *= _powers(_BASE, len(values))[: len(values)]
        np.cumsum(values, out=sums[1:])
        return sums

    def fingerprints(self, starts: Ints, ends: Ints) -> Fingerprints:
        """Return the fingerprints of slices. *Shape:* as `starts` and `ends`."""
        sums = self._sums
        return (sums[ends] - sums[starts]) * _powers(_INVERSE, len(sums))[starts]


class NormalTexts:
    """The words of many normalised texts; the batch version of `TextAnalysis.normal_form`.

    `text` is the concatenation of the normal forms. Word `i` is `text[starts[i]:ends[i]]` and belongs to text `owners[i]`.
    Texts with combining marks or invisible characters, and those that are longer in lower case, are not split into words;
    `odd` has their indices.

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
    """Return the code points of a text, as uint8 if the text is ASCII.

    >>> code_points("ab").dtype, code_points("\\u03b2").tolist()
    (dtype('uint8'), [946])
    """
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def word_ends(codes: npt.NDArray[Any]) -> Ints:
    """Return the end offsets of runs of letters and digits.

    >>> word_ends(code_points("type 2:b")).tolist()
    [4, 6, 8]
    """
    return _runs(_kinds(codes) == _WORD)[1]


def _lower(text: str) -> str | None:
    """Return a text in lower case, or None if its length changes."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else None


def _text(codes: npt.NDArray[Any]) -> str:
    data = codes.tobytes()
    return data.decode("ascii") if codes.dtype == np.uint8 else data.decode("utf-32-le", "surrogatepass")


def _runs(is_inside: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the start and end offsets of each run of consecutive True values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_inside, [False])).astype(np.int8)))
    return edges[::2], edges[1::2]


def _kinds(codes: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the kind of each code point. Each distinct non-ASCII code point is classified only once."""
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
    """Return the kind of a character, by the same word rules as in `onym.text.boundaries`."""
    if char in PUNCTUATION or char.isspace():
        return _SPACE
    if char.isalnum():
        return _WORD
    return _ODD if char in INVISIBLE or category(char).startswith("M") else _OTHER


def _powers(base: int, count: int) -> Fingerprints:
    """Return at least `count` powers of `base`, starting with 1."""
    return _some_powers(base, max(16, count.bit_length()))


@lru_cache(16)
def _some_powers(base: int, bits: int) -> Fingerprints:
    factors = np.full(1 << bits, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors)
