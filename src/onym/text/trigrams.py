"""Texts as bags of the character 3-grams inside their words, weighted by TF-IDF: scikit-learn's `char_wb`, in NumPy.

A word has a space on either side, so that ` fever ` has ` fe`, `fev` ... `er `. A 3-gram is one number: its three code points.
The weights are bit by bit those of scikit-learn's `TfidfVectorizer`: counts times the smoothed idf, divided by the norm, fp32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
_BITS = 21  # of a code point
_SPACE = ord(" ")
_BATCH = 50_000  # texts counted at once


class Counts(NamedTuple):
    """How often each text has each 3-gram. *Shape:* offsets (texts + 1,), grams and times (pairs,), sorted within a text."""

    offsets: Ints
    grams: npt.NDArray[Any]
    times: npt.NDArray[Any]


@dataclass(frozen=True)
class Vectors:
    """Sparse rows, as CSR has them: row `i` has its columns and weights from `offsets[i]` to `offsets[i + 1]`."""

    offsets: Ints
    columns: npt.NDArray[Any]
    weights: Floats

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def transposed(self, width: int) -> Vectors:
        """Return the same weights column by column."""
        rows = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        order = np.argsort(self.columns, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(self.columns, minlength=width))))
        return Vectors(offsets.astype(np.int64), rows[order], self.weights[order])


class Vocabulary:
    """The 3-grams of some texts, in order, with how much each weighs.

    >>> vocabulary, counts = Vocabulary.of(["fever", "yellow fever"])
    >>> vectors = vocabulary.vectors(["fever"])
    >>> len(vocabulary), vectors.columns.tolist(), float((vectors.weights**2).sum().round(5))
    (11, [0, 3, 4, 5, 9], 1.0)
    """

    def __init__(self, grams: npt.NDArray[np.uint64], idf: Floats) -> None:
        self.grams, self.idf = grams, idf

    @classmethod
    def of(cls, texts: Sequence[str]) -> tuple[Vocabulary, Counts]:
        """Return the 3-grams of texts, and how often each text has each of them, by its number in the vocabulary."""
        parts = [_counts(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)] or [_counts([])]
        grams = np.unique(np.concatenate([np.unique(part.grams) for part in parts]))
        numbers = np.concatenate([np.searchsorted(grams, part.grams) for part in parts])
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        found = np.bincount(numbers, minlength=len(grams)).astype(np.float32)
        idf = np.log((np.float32(len(texts)) + 1) / (found + 1)).astype(np.float32) + np.float32(1)
        numbers = numbers.astype(np.uint16 if len(grams) <= 65_536 else np.uint32)
        return cls(grams, idf), Counts(offsets, numbers, np.concatenate([part.times for part in parts]))

    def __len__(self) -> int:
        return len(self.grams)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the weights of texts; a 3-gram that is not in the vocabulary counts for nothing."""
        counts = _counts(texts)
        numbers = np.searchsorted(self.grams, counts.grams)
        is_known = np.zeros(len(numbers), dtype=bool)
        inside = numbers < len(self.grams)
        is_known[inside] = self.grams[numbers[inside]] == counts.grams[inside]
        known_before = np.concatenate(([0], np.cumsum(is_known)))
        return self.weighted(Counts(known_before[counts.offsets], numbers[is_known], counts.times[is_known]))

    def weighted(self, counts: Counts) -> Vectors:
        """Return the weights of counted texts."""
        lengths = np.diff(counts.offsets)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        weights = self._unscaled(counts)
        norms = _norms(weights, counts.offsets)
        return Vectors(counts.offsets, counts.grams, (weights / norms[rows]).astype(np.float32))

    def norms(self, counts: Counts) -> npt.NDArray[np.float64]:
        """Return by what the weights of each counted text are divided: then the weights of some of them can be made alone."""
        texts = len(counts.offsets) - 1
        found = [np.zeros(0)]
        for start in range(0, texts, _BATCH):  # what is in the processor's cache is quicker
            offsets = counts.offsets[start : start + _BATCH + 1]
            at = slice(int(offsets[0]), int(offsets[-1]))
            weights = self._unscaled(Counts(offsets, counts.grams[at], counts.times[at]))
            found.append(_norms(weights, offsets - offsets[0]))
        return np.concatenate(found)

    def some_weights(self, counts: Counts, norms: npt.NDArray[np.float64], at: Ints, rows: npt.NDArray[Any]) -> Floats:
        """Return the weights at some positions, which are of these rows: bit by bit those of `weighted`."""
        weights = counts.times[at].astype(np.float32) * self.idf[counts.grams[at]]
        return np.asarray((weights / norms[rows]).astype(np.float32))

    def _unscaled(self, counts: Counts) -> Floats:
        return np.asarray(counts.times.astype(np.float32) * self.idf[counts.grams])


def _norms(weights: Floats, offsets: Ints) -> npt.NDArray[np.float64]:
    """Return the lengths of rows of weights, which begin at `offsets`; 1 of a row without any."""
    squares = np.append(weights * weights, np.float32(0))  # so that a row may begin at the end
    sums = np.add.reduceat(squares, offsets[:-1], dtype=np.float64) if len(offsets) > 1 else np.zeros(0)
    sums[np.diff(offsets) == 0] = 0  # of an empty row it is what follows
    norms: npt.NDArray[np.float64] = np.sqrt(sums)
    norms[norms == 0] = 1
    return norms


def _counts(texts: Sequence[str]) -> Counts:
    """Count the 3-grams of texts, as the numbers that they are."""
    padded = [f" {' '.join(text.lower().split())} " for text in texts]
    points = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    rows = np.repeat(np.arange(len(padded)), [len(text) for text in padded])
    if len(points) < 3:
        return Counts(np.zeros(len(texts) + 1, dtype=np.int64), np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint8))
    grams = (points[:-2] << np.uint64(2 * _BITS)) | (points[1:-1] << np.uint64(_BITS)) | points[2:]
    inside = points[1:-1] != _SPACE  # a 3-gram with a space in its middle reaches over two words, or two texts
    grams, rows = grams[inside], rows[1:-1][inside]
    order = np.lexsort((grams, rows))
    grams, rows = grams[order], rows[order]
    is_first = np.ones(len(grams), dtype=bool)
    is_first[1:] = (grams[1:] != grams[:-1]) | (rows[1:] != rows[:-1])
    starts = np.flatnonzero(is_first)
    times = np.diff(np.append(starts, len(grams)))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows[starts], minlength=len(texts))))).astype(np.int64)
    return Counts(offsets, grams[starts], times.astype(np.uint8 if times.max(initial=0) < 256 else np.uint32))


def ragged_positions(vectors: Vectors | Counts, rows: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Return where the members of rows stand, one after the other, and how many each row has."""
    starts, lengths = vectors.offsets[rows], np.diff(vectors.offsets)[rows]
    before = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum())), lengths
