"""What similar surfaces of a memory meant, taken together: kernel ridge regression from texts to concepts.

A surface that is like several others is judged by all of them at once, where a nearest neighbour is judged by one. Learnt from
the surfaces of the memory and the preferred names of their concepts. The kernel of two texts is the mean of three:
`exp(4 (cosine - 1))` of their vectors, and the TF-IDF similarities of their letters and of their words' beginnings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.linalg import solve
from sklearn.feature_extraction.text import TfidfVectorizer

from onym.kb import KnowledgeBase
from onym.models.encoder import Vectors
from onym.rerank.memory import KbMemory
from onym.rerank.pool import Floats, Pool

COLUMNS = ("regressed", "regressed_margin", "regressed_rank", "regressed_best")
"""The score of the concept, how much less it is than the best of all concepts, how many are better, and that best score."""
_WIDTH = 4.0
_RIDGE = 0.3  # of a surface that was seen once; less for one that was seen often
_BEGINNING = 5  # letters of a word that are compared


class TextEncoder(Protocol):
    """Makes vectors of length one."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts."""


class Kernel:
    """How alike texts are to some names."""

    def __init__(self, names: Sequence[str], encoder: TextEncoder) -> None:
        self._encoder, self._vectors = encoder, encoder.encode(names)
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
        words = TfidfVectorizer(preprocessor=_beginnings, token_pattern=r"\S+", sublinear_tf=True)
        self._tfidf = [(each, each.fit_transform(names)) for each in (letters, words)]

    def between(self, texts: Sequence[str]) -> Floats:
        """Return how alike each text is to each name. *Shape:* (texts, names)."""
        found = np.exp(_WIDTH * (self._encoder.encode(texts).astype(np.float64) @ self._vectors.T - 1))
        for vectorizer, rows in self._tfidf:
            found += (vectorizer.transform(texts) @ rows.T).toarray()
        return np.asarray(found / (1 + len(self._tfidf)), dtype=np.float64)


class Regression:
    """Scores concepts that a memory has for any text."""

    def __init__(self, counts: Counter[tuple[str, int]], encoder: TextEncoder) -> None:
        names, concepts = sorted({name for name, _ in counts}), sorted({concept for _, concept in counts})
        rows, self._columns = {name: row for row, name in enumerate(names)}, {each: at for at, each in enumerate(concepts)}
        shares = np.zeros((len(names), len(concepts)))
        for (name, concept), count in counts.items():
            shares[rows[name], self._columns[concept]] += count
        totals = shares.sum(axis=1)
        self._kernel = Kernel(names, encoder)
        kernel = self._kernel.between(names) + np.diag(_RIDGE / np.sqrt(totals))
        right = (shares / totals[:, None]).astype(np.float32)
        self._weights = solve(kernel.astype(np.float32), right, assume_a="pos", overwrite_a=True, overwrite_b=True)

    @classmethod
    def of(cls, memory: KbMemory, kb: KnowledgeBase, encoder: TextEncoder) -> Regression:
        """Learn from a memory, and from the preferred names of its concepts."""
        counts: Counter[tuple[str, int]] = Counter()
        for row in range(len(memory.memory.surfaces)):
            surface = memory.memory.surfaces[row]
            counts.update({(surface, concept): count for concept, count in memory.recall(surface).items()})
        for concept in {concept for _, concept in counts}:
            counts[kb.names[int(kb.term_names[int(kb.concept_terms[concept])])], concept] += 1
        return cls(counts, encoder)

    def features(self, pool: Pool) -> Floats:
        """Return the columns of each pair, NaN for the score of a concept that the memory lacks. *Shape:* (pairs, 4)."""
        scores = self._kernel.between([mention.query for mention in pool.mentions]).astype(np.float32) @ self._weights
        columns = np.array([self._columns.get(concept, -1) for concept in pool.concepts.tolist()], dtype=np.int64)
        own = np.where(columns < 0, np.nan, scores[pool.owners, columns])
        best = scores.max(axis=1)[pool.owners]
        better = np.array([np.sum(scores[owner] > score) for owner, score in zip(pool.owners, np.nan_to_num(own), strict=True)])
        return np.column_stack((own, best - np.nan_to_num(own), better, best))


def _beginnings(text: str) -> str:
    return " ".join(word[:_BEGINNING] for word in text.split())
