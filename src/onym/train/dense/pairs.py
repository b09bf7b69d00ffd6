"""Positive pairs for encoders (SapBERT, appendix A.3), and hard negatives.

`PositivePairs` are pairs of names of one concept; `Mixed` combines two sources of pairs. A batch of pairs has two rows per
pair: the first strings of all pairs, then the second strings in the same order. `same_of` finds rows that must not be negatives
of each other although their concepts differ.

Hard negatives are wrong concepts or names that the model ranks high for a mention. `HardPairs` adds them to batches of pairs
(BioSyn, ANCE); `Negatives` ranks them again after each epoch (Bhowmik et al., 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import ceil

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.methods.dense.linker import DenseLinker
from onym.pipeline import Pipeline, PipelineOptions
from onym.store.arrays import Ragged, smallest_offsets
from onym.train.samples.base import Ints, OrderedSamples, Positive, RepeatedSamples, draw, draw_rows, permute
from onym.train.samples.mentions import MentionPairs, Query
from onym.types import Document, Mention

_MAX_PAIRS = 50  # maximum pairs per concept, so that concepts with many names do not dominate
_STREAM = 4
_FINEST = 1000  # `Mixed.share` is rounded to a fraction with at most this denominator


class PositivePairs(OrderedSamples):
    """`count` pairs of names of one concept, shuffled by `seed`; an epoch has every pair once.

    If a concept has more than `max_pairs` pairs, `max_pairs` of them are drawn at random; every epoch uses the same pairs.

    Only the offset of each concept's first pair (4 bytes) is stored; a pair is computed from offset, seed and index.

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
            raise ConfigError("config-invalid", f"max_pairs is {max_pairs}", fix="set it to 1 or more")
        self._kb, self._seed, self._max_pairs = kb, seed, max_pairs
        # Convert to ndarray views, because indexing a memmap creates a new memmap object each time, which is slow.
        self._terms, self._term_names = np.asarray(kb.concept_terms), np.asarray(kb.term_names)
        self._starts = _starts(self._terms, max_pairs)
        if not self._starts[-1]:
            fix = "build the knowledge base from a source that has synonyms"
            raise InputError("training-empty", "no concept has more than one name", where=str(kb.folder), fix=fix)
        super().__init__(int(self._starts[-1]), count, seed)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        concepts, first, second = self._at(np.asarray(indices, dtype=np.int64))
        texts, rows = self._kb.names, zip(concepts.tolist(), first.tolist(), second.tolist(), strict=True)
        return [Positive(texts[one], texts[other], concept, (one, other)) for concept, one, other in rows]

    def _at(self, indices: Ints) -> tuple[Ints, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Return the concepts of the pairs, and the ids of both names."""
        # Use the dtype of the column, because searchsorted would otherwise convert the whole column.
        numbers = self._order.at(indices).astype(self._starts.dtype)
        concepts = np.searchsorted(self._starts, numbers, side="right").astype(np.int64) - 1
        terms = self._terms[concepts].astype(np.int64)
        one, other = _pair(self._pair_ranks(concepts, (numbers - self._starts[concepts]).astype(np.int64)))
        return concepts, self._term_names[terms + one], self._term_names[terms + other]

    def _pair_ranks(self, concepts: Ints, ranks: Ints) -> Ints:
        """Convert ranks among the drawn pairs of a concept to ranks among all its pairs."""
        totals = _combinations(self._terms[concepts + 1].astype(np.int64) - self._terms[concepts])
        cut = np.flatnonzero(totals > self._max_pairs)
        # The first `max_pairs` elements of a random permutation are a sample without replacement.
        ranks[cut] = permute(ranks[cut], totals[cut], self._seed, concepts[cut], stream=_STREAM)
        return ranks


def _starts(terms: npt.NDArray[np.unsignedinteger], max_pairs: int) -> npt.NDArray[np.unsignedinteger]:
    """Return the offset of each concept's first pair, and the total number of pairs at the end."""
    counts = np.minimum(_combinations(np.diff(terms).astype(np.int64)), max_pairs)
    return smallest_offsets(np.concatenate(([0], np.cumsum(counts))))


def _combinations(sizes: Ints) -> Ints:
    return sizes * (sizes - 1) // 2


def _pair(ranks: Ints) -> tuple[Ints, Ints]:
    """Return the pairs (one < other) at these ranks of the sequence (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), ..."""
    other = (1 + np.sqrt(1 + 8 * ranks).astype(np.int64)) // 2
    return ranks - _combinations(other), other


@dataclass(frozen=True)
class Mixed:
    """`count` pairs: a `share` of them comes from `others`, all other pairs from `own`; each source keeps its order.

    >>> names = PositivePairs(KnowledgeBase.open(getfixture("tiny_kb")), count=9)
    >>> Mixed(names, names, share=0.25).epoch
    16
    """

    own: RepeatedSamples[Positive]
    others: RepeatedSamples[Positive]
    share: float
    count: int = 0

    def __post_init__(self) -> None:
        """Raise ConfigError unless 0 <= share < 1; with a share of 1, no pair of `own` would be used."""
        if not 0 <= self.share < 1:
            raise ConfigError("config-invalid", f"share is {self.share}", fix="set a number from 0 to less than 1")

    @property
    def epoch(self) -> int:
        """The number of pairs in one epoch of `own`, including the pairs of `others` mixed in."""
        return ceil(self.own.epoch / (1 - self._fraction))

    def __len__(self) -> int:
        return self.count

    def with_count(self, count: int) -> Mixed:
        """Return a copy with `count` pairs in total."""
        return replace(self, count=count)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        starts = [self._others_before(index) for index in indices]
        is_other = [self._others_before(index + 1) > start for index, start in zip(indices, starts, strict=True)]
        rows = list(zip(indices, starts, is_other, strict=True))
        own = iter(self.own.__getitems__([index - start for index, start, other in rows if not other]))
        more = iter(self.others.__getitems__([start for _, start, other in rows if other]))
        return [next(more if other else own) for other in is_other]

    def _others_before(self, index: int) -> int:
        return index * self._fraction.numerator // self._fraction.denominator

    @property
    def _fraction(self) -> Fraction:
        return min(Fraction(self.share).limit_denominator(_FINEST), Fraction(_FINEST - 1, _FINEST))


def labels_of(positives: Sequence[Positive]) -> Ints:
    """Return the concept of each row of a batch, as (rows,).

    >>> labels_of([Positive("fever", "pyrexia", 7, (0, 1)), Positive("mi", "heart attack", 8, (2, 3))]).tolist()
    [7, 8, 7, 8]
    """
    return np.tile(np.array([each.concept for each in positives], dtype=np.int64), 2)


def same_of(positives: Sequence[Positive], kb: KnowledgeBase) -> npt.NDArray[np.bool_]:
    """Return a mask (rows, rows) of pairs with different labels that must not be used as negatives.

    Those are rows with the same string, and rows whose names share any concept; a name may have more concepts than the
    concept for which it is in the batch.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> heart, pressure = (kb.resolve(concept_id)[0] for concept_id in ("mesh:D009203", "mesh:D006973"))
    >>> mi, attack, high = (kb.find(name) for name in ("MI", "heart attack", "high blood pressure"))
    >>> one = Positive("heart attack", "mi", heart, (attack, mi))
    >>> other = Positive("mi", "high blood pressure", pressure, (mi, high))
    >>> same_of([one, other], kb).astype(int)  # heart attack, mi of pressure, mi of heart, high blood pressure
    array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 1],
           [0, 0, 1, 0]])
    """
    labels, names = labels_of(positives), np.array([each.names for each in positives], dtype=np.int64).T.ravel()
    rows, keys = _keys(positives, labels, names, kb)
    order = np.argsort(keys, kind="stable")
    rows, keys = rows[order], keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    found: npt.NDArray[np.bool_] = np.zeros((len(labels), len(labels)), dtype=bool)
    # Skip keys whose rows all have the same label (most keys): they give no pairs with different labels.
    is_mixed = np.minimum.reduceat(labels[rows], starts) != np.maximum.reduceat(labels[rows], starts)
    ends = np.append(starts[1:], len(rows))
    for start, end in zip(starts[is_mixed].tolist(), ends[is_mixed].tolist(), strict=True):
        found[np.ix_(rows[start:end], rows[start:end])] = True
    found &= labels[:, None] != labels
    return found


def _keys(positives: Sequence[Positive], labels: Ints, names: Ints, kb: KnowledgeBase) -> tuple[Ints, Ints]:
    """Return (row, key) pairs as two arrays; rows that share a key must not be negatives of each other.

    The keys of a row are the concepts of its string, and the id of its string plus len(kb).
    """
    known = np.flatnonzero(names < len(kb.names))
    meant = Ragged(np.asarray(kb.name_concepts.offsets), np.asarray(kb.name_concepts.values)).take(names[known])
    more = [(row, concept) for row, each in enumerate(positives) for concept in each.also]
    more_rows, more_keys = np.array(more, dtype=np.int64).reshape(-1, 2).T
    all_rows = np.arange(len(labels))
    rows = np.concatenate((all_rows, all_rows, known[meant.owners()], more_rows))
    return rows, np.concatenate((labels, names + len(kb), meant.values.astype(np.int64), more_keys))


Wrong = tuple[int, int]
"""A wrong concept for a mention (KB row), and the name of it that is near the mention (name id)."""
_PAIR_STREAM = 6
_SPARE = 8  # extra candidates to retrieve, because some have a name that is also a name of the right concept
Floats = npt.NDArray[np.float32]
_NAME_STREAM = 7
_ALL = 2**64  # exclusive upper bound of random numbers


@dataclass(frozen=True)
class HardPairs:
    """`count` pairs: each mention paired with a right name, followed by a pair of names for each of `hard` wrong concepts.

    `wrong` has the wrong concepts of each mention, in the order of `pairs.queries`. If there are fewer than `hard`, more pairs
    of the mention are used instead. A wrong concept adds two names, not one, so that a batch still consists of positive pairs.
    """

    pairs: MentionPairs
    wrong: Sequence[Sequence[Wrong]]
    kb: KnowledgeBase
    hard: int
    seed: int = 0
    count: int = 0

    @property
    def epoch(self) -> int:
        """The number of pairs in an epoch."""
        return self.pairs.epoch * (1 + self.hard)

    def __len__(self) -> int:
        return self.count

    def with_count(self, count: int) -> HardPairs:
        """Return a copy with `count` pairs in total."""
        return replace(self, count=count)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        mentions = [index // (1 + self.hard) for index in indices]
        rows = self.pairs.rows(np.asarray(mentions, dtype=np.int64)).tolist()
        found = self.pairs.__getitems__(mentions)
        for at, (index, row) in enumerate(zip(indices, rows, strict=True)):
            number = index % (1 + self.hard) - 1
            if 0 <= number < len(self.wrong[row]):
                found[at] = self._pair(self.wrong[row][number], index)
        return found

    def _pair(self, wrong: Wrong, index: int) -> Positive:
        concept, name = wrong
        others = [other for other in self.kb.names_of(concept).tolist() if other != name] or [name]
        other = others[draw(self.seed, index, len(others), stream=_PAIR_STREAM)]
        return Positive(self.kb.names[name], self.kb.names[other], concept, (name, other))


def mine(linker: DenseLinker, pairs: MentionPairs, hard: int) -> list[list[Wrong]]:
    """Return hard negatives for each mention: the nearest `hard` wrong concepts, each with its nearest name."""
    kb = linker.kb
    gold = [set(each.concepts) for each in pairs.queries]
    documents = (Document(str(row), each.surface, (_whole(each.surface),)) for row, each in enumerate(pairs.queries))
    options = PipelineOptions(top_k=hard + max(map(len, gold), default=0) + _SPARE)
    linked = Pipeline(linker, options=options, bare=True).link_many(documents)
    found = []
    for concepts, item in zip(gold, linked, strict=True):
        near = ((kb.concept_ids.find(each.concept_id), kb.find(each.name)) for each in item.links[0].candidates)
        # A name that is also a name of the right concept is not a negative.
        wrong = ((concept, name) for concept, name in near if concepts.isdisjoint(kb.name_concepts[name].tolist()))
        found.append(list(islice(wrong, hard)))
    return found


def _whole(surface: str) -> Mention:
    return Mention(0, len(surface), surface)


class Negatives:
    """Sampler of positive and negative names for mentions. `pools` are the ids of the names nearest to each mention.

    *Shape:* pools (mentions, pool), padded with -1.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        kb: KnowledgeBase,
        pools: Ints,
        *,
        hard: int,
        random: int,
        similar: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.queries, self.kb, self.pools = queries, kb, pools
        self._hard, self._random, self._similar, self._seed = hard, random, similar, seed
        self._positives = [frozenset(each.names) for each in queries]
        self.hard: list[list[int]] = [self._wrong(row, pools[row].tolist()) for row in range(len(queries))]

    @property
    def names(self) -> Ints:
        """The sorted distinct name ids of all pools."""
        return np.unique(self.pools[self.pools >= 0]).astype(np.int64)

    def mine(self, mentions: Floats, names: Floats) -> None:
        """Rank each mention's pool again. *Shape:* embeddings of mentions (mentions, dim) and of `self.names` (names, dim)."""
        rows = np.searchsorted(self.names, np.maximum(self.pools, 0))
        for row, (mention, pool) in enumerate(zip(mentions, self.pools, strict=True)):
            scores = np.where(pool >= 0, names[np.minimum(rows[row], len(names) - 1)] @ mention, -np.inf)
            best = np.argsort(-scores, kind="stable")
            self.hard[row] = self._wrong(row, pool[best].tolist())

    def sample(self, mentions: Sequence[int], step: int) -> list[int]:
        """Return the distinct names to compare these mentions with at a step: positives, hard and random negatives."""
        drawn = draw_rows(self._seed, np.array([step]), 2 * len(mentions) + self._random * len(mentions), stream=_NAME_STREAM)[
            0
        ]
        found: list[int] = []
        for at, mention in enumerate(mentions):
            found.append(self._positive(self.queries[mention], int(drawn[2 * at]), int(drawn[2 * at + 1])))
            found += self.hard[mention]
        found += [int(draw) % len(self.kb.names) for draw in drawn[2 * len(mentions) :]]
        return list(dict.fromkeys(found))

    def is_positive(self, mentions: Sequence[int], names: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return a mask (mentions, names) of the names that belong to each mention's concepts."""
        return np.array([[name in self._positives[mention] for name in names] for mention in mentions], dtype=np.bool_).reshape(
            len(mentions), len(names)
        )

    def _positive(self, query: Query, chance: int, number: int) -> int:
        return query.best if chance < self._similar * _ALL else query.names[number % len(query.names)]

    def _wrong(self, row: int, names: Sequence[int]) -> list[int]:
        wrong = [name for name in names if name >= 0 and name not in self._positives[row]]
        return wrong[: self._hard]
