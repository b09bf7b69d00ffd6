"""Pairs of names of one concept, for an encoder to draw together: SapBERT, appendix A.3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.store.arrays import smallest_offsets
from onym.train.samples.base import Positive
from onym.train.samples.order import Ints, OrderedSamples, permute

_MAX_PAIRS = 50  # of a concept: more would give it more weight than its use has
_STREAM = 4


class PositivePairs(OrderedSamples):
    """`count` pairs of names of a knowledge base: each pair of a concept is seen once in an epoch, in an order by `seed`.

    Of a concept with more than `max_pairs` pairs so many are drawn at random, the same ones in every epoch.

    Only where the pairs of each concept begin is stored, 4 bytes for each. A pair follows from that, the seed and its index.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> pairs = PositivePairs(kb, count=10, seed=1)
    >>> pairs.epoch, len(pairs)
    (12, 10)
    >>> pair = pairs.__getitems__([7])[0]
    >>> kb.concept_ids[pair.concept], pair.first, pair.second
    ('mesh:D009203', 'myocardial infarction', 'mi')
    """

    def __init__(self, kb: KnowledgeBase, count: int, seed: int = 0, *, max_pairs: int = _MAX_PAIRS) -> None:
        if max_pairs < 1:
            raise ConfigError("config-invalid", f"{max_pairs} pairs of a concept", fix="give 1 or more")
        self._kb, self._seed, self._max_pairs = kb, seed, max_pairs
        # Plain views: indexing a memory map makes another map.
        self._terms, self._term_names = np.asarray(kb.concept_terms), np.asarray(kb.term_names)
        self._starts = _starts(self._terms, max_pairs)
        if not self._starts[-1]:
            fix = "take in a source that has synonyms"
            raise InputError("training-empty", "no concept has two names", where=str(kb.folder), fix=fix)
        super().__init__(int(self._starts[-1]), count, seed)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        concepts, first, second = self._at(np.asarray(indices, dtype=np.int64))
        texts, rows = self._kb.names, zip(concepts.tolist(), first.tolist(), second.tolist(), strict=True)
        return [Positive(texts[one], texts[other], concept, (one, other)) for concept, one, other in rows]

    def _at(self, indices: Ints) -> tuple[Ints, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Return the concepts and the ids of their two names."""
        # In the column's own type: numpy would make a copy of the whole column in any other.
        numbers = self._order.at(indices).astype(self._starts.dtype)
        concepts = np.searchsorted(self._starts, numbers, side="right").astype(np.int64) - 1
        terms = self._terms[concepts].astype(np.int64)
        one, other = _pair(self._pair_ranks(concepts, (numbers - self._starts[concepts]).astype(np.int64)))
        return concepts, self._term_names[terms + one], self._term_names[terms + other]

    def _pair_ranks(self, concepts: Ints, ranks: Ints) -> Ints:
        """Return which of all pairs of a concept comes at a rank among those that are taken."""
        totals = _combinations(self._terms[concepts + 1].astype(np.int64) - self._terms[concepts])
        cut = np.flatnonzero(totals > self._max_pairs)
        # The first ones of a random order are drawn without one coming twice.
        ranks[cut] = permute(ranks[cut], totals[cut], self._seed, concepts[cut], stream=_STREAM)
        return ranks


def _starts(terms: npt.NDArray[np.unsignedinteger], max_pairs: int) -> npt.NDArray[np.unsignedinteger]:
    """Return where the pairs of each concept begin, and where those of the last end."""
    counts = np.minimum(_combinations(np.diff(terms).astype(np.int64)), max_pairs)
    return smallest_offsets(np.concatenate(([0], np.cumsum(counts))))


def _combinations(sizes: Ints) -> Ints:
    return sizes * (sizes - 1) // 2


def _pair(ranks: Ints) -> tuple[Ints, Ints]:
    """Return the pairs (one < other) at these ranks of (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), ...: of any number of names."""
    other = (1 + np.sqrt(1 + 8 * ranks).astype(np.int64)) // 2
    return ranks - _combinations(other), other
