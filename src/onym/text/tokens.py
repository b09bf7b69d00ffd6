"""WordTokens of many texts at once, and hashed features of their words: word, prefix, suffixes, shape and character n-grams.

A token is a word (see `onym.text.boundaries`) or a single other visible character. The features of a word are rows of one table
of `ROWS` embeddings. They are computed on arrays of code points, without a loop over characters or words.
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
from onym.text.fingerprints import Fingerprints, Ints, Numbered, code_points

_SIZES = {
    "word": 1 << 14,
    "word again": 1 << 14,
    "prefix": 1 << 12,
    "suffix": 1 << 12,
    "long suffix": 1 << 13,
    "shape": 1 << 10,
}
_GRAM_ROWS = 1 << 15
_GRAMS = (3, 4, 5)
FIXED = len(_SIZES)
"""Number of features that each word has, besides its n-grams."""
ROWS = sum(_SIZES.values()) + _GRAM_ROWS
"""Number of rows of the embedding table. Sizes are powers of two."""
_SHAPE_LENGTH, _MAX_LENGTH, _SALT = 6, 8, 7919
_ASCII = 128
_SPACE, _OTHER, _UPPER, _LOWER, _DIGIT, _LETTER = range(6)  # classes of characters; words consist of those from _UPPER on
Classes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class WordFeatures:
    """Table rows of words. *Shape:* `fixed` (words, FIXED); n-grams of word `i` are `grams[offsets[i]:offsets[i + 1]]`."""

    fixed: Ints
    grams: Ints
    offsets: Ints


class WordTokens:
    """The tokens of several texts.

    Token `i` is `texts[owners[i]][starts[i]:ends[i]]`, and those of text `t` are the rows from `bounds[t]` to `bounds[t + 1]`.
    `words[i]` is the number of its distinct spelling, whose fingerprint is `fingerprints[words[i]]`.

    >>> tokens = WordTokens(["No Fever-X.", "No"])
    >>> tokens.starts.tolist(), tokens.owners.tolist(), tokens.bounds.tolist()
    ([0, 3, 8, 9, 10, 0], [0, 0, 0, 0, 0, 1], [0, 5, 6])
    >>> bool(tokens.words[0] == tokens.words[5]), tokens.is_glued.tolist()
    (True, [False, False, True, True, True, False])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        codes = code_points("\n".join(texts))
        self._classes = _classes(codes)
        self.begins: Ints = np.cumsum([0, *(len(text) + 1 for text in texts)])
        starts, ends = _edges(self._classes)
        self.owners: Ints = np.searchsorted(self.begins, starts, side="right") - 1
        self.starts, self.ends = starts - self.begins[self.owners], ends - self.begins[self.owners]
        self.bounds: Ints = np.searchsorted(self.owners, np.arange(len(texts) + 1))
        self.is_glued: npt.NDArray[np.bool_] = (starts > 0) & (self._classes[np.maximum(starts - 1, 0)] != _SPACE)
        spelt = Numbered(codes).fingerprints(starts, ends)
        self.fingerprints: Fingerprints
        self.fingerprints, first, self.words = np.unique(spelt, return_index=True, return_inverse=True)
        self._word_starts, self._word_ends = starts[first], ends[first]

    def __len__(self) -> int:
        return len(self.starts)

    def number_words(self, start: int, end: int) -> tuple[Ints, Ints]:
        """Return the distinct words of the tokens from `start` to `end`, and for each token the row of its word among them.

        >>> tokens = WordTokens(["no fever, no cough"])
        >>> words, rows = tokens.number_words(2, 5)
        >>> len(words), words[rows].tolist() == tokens.words[2:5].tolist()
        (3, True)
        """
        if end - start == len(self):  # the usual case, already computed
            return np.arange(len(self.fingerprints)), self.words
        words, rows = np.unique(self.words[start:end], return_inverse=True)
        return words, rows

    def features(self, words: Ints) -> WordFeatures:
        """Return the features of distinct words, given by number."""
        starts, ends = self._word_starts[words], self._word_ends[words]
        grams = [self._grams_of(starts, ends, length) for length in _GRAMS]
        owners, rows = (np.concatenate([each[column] for each in grams]) for column in range(2))
        order = np.argsort(owners, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(words)))))
        return WordFeatures(self._fixed_rows(starts, ends), rows[order], offsets)

    @cached_property
    def _in_lower_case(self) -> Numbered:
        return Numbered(code_points("\n".join(map(_lower, self._texts))))

    def _fixed_rows(self, starts: Ints, ends: Ints) -> Ints:
        lowered, lengths = self._in_lower_case, ends - starts
        word = _mix(lowered.fingerprints(starts, ends))
        shape = Numbered(self._classes).fingerprints(starts, np.minimum(ends, starts + _SHAPE_LENGTH))
        found = (
            word,
            word >> np.uint64(32),
            _mix(lowered.fingerprints(starts, np.minimum(starts + 3, ends))),
            _mix(lowered.fingerprints(np.maximum(starts, ends - 3), ends)),
            _mix(lowered.fingerprints(np.maximum(starts, ends - 4), ends)),
            _mix(shape + np.minimum(lengths, _MAX_LENGTH).astype(np.uint64) * np.uint64(_SALT)),
        )
        sizes = np.array(list(_SIZES.values()), dtype=np.uint64)
        before: Ints = (np.cumsum(sizes) - sizes).astype(np.int64)
        rows: Ints = (np.stack(found, 1) & (sizes - np.uint64(1))).astype(np.int64)
        return rows + before

    def _grams_of(self, starts: Ints, ends: Ints, length: int) -> tuple[Ints, Ints]:
        """Return the owner and the row of each n-gram of this length."""
        counts = np.maximum(ends - starts - length + 1, 0)
        owners = np.repeat(np.arange(len(starts)), counts)
        at = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[owners]
        found = _mix(self._in_lower_case.fingerprints(at, at + length) + np.uint64(length * _SALT))
        return owners, (found & np.uint64(_GRAM_ROWS - 1)).astype(np.int64) + (ROWS - _GRAM_ROWS)


def _edges(classes: Classes) -> tuple[Ints, Ints]:
    """Return the start and end offsets of all tokens: runs of letters and digits, and single other characters."""
    is_word, is_other = classes >= _UPPER, classes == _OTHER
    starts = np.flatnonzero((is_word & ~np.concatenate(([False], is_word[:-1]))) | is_other)
    ends = np.flatnonzero((is_word & ~np.concatenate((is_word[1:], [False]))) | is_other) + 1
    return starts, ends


def _lower(text: str) -> str:
    """Return a text in lower case with the same length: characters that would become longer are kept."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def _mix(values: Fingerprints) -> Fingerprints:
    """Spread the bits of fingerprints, so that their lowest bits can index a table."""
    mixed = values ^ (values >> np.uint64(31))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(32)
    return mixed


def _classes(codes: npt.NDArray[Any]) -> Classes:
    """Return the class of each code point. Each distinct non-ASCII code point is classified only once."""
    found: Classes = _ascii_classes()[np.minimum(codes, _ASCII)]
    others = np.flatnonzero(codes >= _ASCII)
    if len(others):
        distinct, which = np.unique(codes[others], return_inverse=True)
        found[others] = np.array([_class(chr(code)) for code in distinct.tolist()], dtype=np.uint8)[which]
    return found


@lru_cache(1)
def _ascii_classes() -> Classes:
    return np.array([*(_class(chr(code)) for code in range(_ASCII)), _OTHER], dtype=np.uint8)


@lru_cache(10_000)
def _class(char: str) -> int:
    if char.isspace():
        return _SPACE
    if char.isupper():
        return _UPPER
    if char.islower():
        return _LOWER
    if char.isdigit():
        return _DIGIT
    return _LETTER if char.isalnum() or char in INVISIBLE or category(char).startswith("M") else _OTHER
