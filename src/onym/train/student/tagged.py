"""Training samples of the student: documents with spans, as arrays of tokens and tags, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onym.kb import KnowledgeBase
from onym.methods.detector import Span
from onym.methods.student.name_bits import Bits, NameBits
from onym.methods.student.network import TAGS, Floats, StudentSettings
from onym.methods.student.tags import encode_tags
from onym.text.abbreviations import Abbreviations
from onym.text.fingerprints import Ints
from onym.text.tokens import WordFeatures, WordTokens

_TEXTS = 200  # texts whose marks are computed at a time


@dataclass(frozen=True)
class TaggedSample:
    """A training document: the convention that it follows, and its spans with their probabilities."""

    text: str
    convention: str
    spans: tuple[Span, ...]


class TaggedBatch(NamedTuple):
    """Documents in one row of tokens, each followed by an empty token, so that convolutions do not cross.

    `words` is the row of each token's word in `features`, and `same` numbers the words of each document. `targets` has, by
    convention, tokens and the probabilities of their tags.
    """

    features: WordFeatures
    words: Ints
    marks: Floats
    is_token: Floats
    same: Ints
    owners: Ints
    targets: dict[str, tuple[Ints, Floats]]


class TaggedDocuments:
    """The training documents as arrays."""

    def __init__(self, samples: Sequence[TaggedSample], settings: StudentSettings, kb: KnowledgeBase) -> None:
        texts = [sample.text for sample in samples]
        self._samples, self._settings = samples, settings
        self._tokens = WordTokens(texts)
        self._marks = _mark(texts, NameBits(kb, settings.groups))
        self._features = self._tokens.features(np.arange(len(self._tokens.fingerprints)))

    def batch(self, rows: Sequence[int]) -> TaggedBatch:
        """Return some documents as a batch."""
        tokens, bounds = self._tokens, self._tokens.bounds
        # An empty token repeats the last token of its document; its values are 0 where they could matter.
        at = np.concatenate([[*range(bounds[row], bounds[row + 1]), max(bounds[row + 1] - 1, 0)] for row in rows])
        lengths = bounds[np.array(rows) + 1] - bounds[rows] + 1
        owners = np.repeat(np.arange(len(rows)), lengths)
        is_token = np.ones((len(at), 1), dtype=np.float32)
        is_token[np.cumsum(lengths) - 1] = 0
        distinct, words = np.unique(tokens.words[at], return_inverse=True)
        same = np.unique(owners * len(distinct) + words, return_inverse=True)[1]
        marks = np.concatenate([self._marks[at], tokens.is_glued[at, None]], axis=1).astype(np.float32)
        return TaggedBatch(self._take(distinct), words, marks, is_token, same, owners, self._targets(rows))

    def _take(self, words: Ints) -> WordFeatures:
        features = self._features
        lengths = np.diff(features.offsets)[words]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(int(offsets[-1])) + np.repeat(features.offsets[words] - offsets[:-1], lengths)
        return WordFeatures(features.fixed[words], features.grams[at], offsets)

    def _targets(self, rows: Sequence[int]) -> dict[str, tuple[Ints, Floats]]:
        found: dict[str, tuple[list[Ints], list[Floats]]] = {}
        start = 0
        for row in rows:
            count = int(self._tokens.bounds[row + 1] - self._tokens.bounds[row])
            at, targets = found.setdefault(self._samples[row].convention, ([], []))
            at.append(np.arange(start, start + count))
            targets.append(self._target(row))
            start += count + 1  # with the empty token
        return {name: (np.concatenate(at), np.concatenate(targets)) for name, (at, targets) in found.items()}

    def _target(self, row: int) -> Floats:
        """Return the probability of each tag for the tokens of a document; spans that cut tokens are left out."""
        sample = self._samples[row]
        low, high = self._tokens.bounds[row : row + 2].tolist()
        types = self._settings.conventions[sample.convention]
        first_at = {start: at for at, start in enumerate(self._tokens.starts[low:high].tolist())}
        last_at = {end: at for at, end in enumerate(self._tokens.ends[low:high].tolist())}
        spans = [
            (first_at[span.start], last_at[span.end], types.index(span.type), span.score)
            for span in sorted(sample.spans, key=lambda span: (-span.score, span.start - span.end))
            if span.start in first_at and span.end in last_at and span.type in types
        ]
        first, last, kinds = (np.array([span[column] for span in spans], dtype=np.int64) for column in range(3))
        tags = encode_tags(first, last, kinds, high - low)
        chances = np.zeros((high - low, 1 + TAGS * len(types)), dtype=np.float32)
        chances[np.arange(high - low), tags] = 1
        for start, end, _, score in spans:
            if score < 1:  # a teacher's span; these do not overlap
                inside = np.arange(start, end + 1)
                chances[inside, tags[inside]] = score
                chances[inside, 0] = 1 - score
        return chances


def _mark(texts: Sequence[str], names: NameBits) -> Bits:
    parts = []
    for start in range(0, len(texts), _TEXTS):
        some = texts[start : start + _TEXTS]
        parts.append(names.mark(WordTokens(some), some, [Abbreviations.from_text(text) for text in some]))
    return np.concatenate(parts)


def iter_batches(count: int, size: int, epochs: float, seed: int) -> Iterator[list[int]]:
    """Yield batches of row numbers, shuffled anew in each epoch.

    >>> [len(batch) for batch in iter_batches(5, 2, 1.0, 0)]
    [2, 2, 1]
    """
    random = np.random.default_rng(seed)
    left = round(count * epochs)
    while left > 0:
        order = random.permutation(count)[: min(left, count)].tolist()
        left -= len(order)
        yield from (order[start : start + size] for start in range(0, len(order), size))
