"""From vectors of mentions to concepts: the nearest names of an index, asked for until they are of enough concepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from onym.index.search import Index
from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask, names_of
from onym.kb.ranking import Ranked, rank_concepts

_WIDER = 4  # names asked for a candidate, and how many times as many when those are of too few concepts
_MAX_TIED = 1_000  # names asked for where all of them share the best score: the first of a tie may be further on
_MAX_FOUND = 1_000_000  # names found at once, for all mentions together

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Nearest:
    """What is the same for all mentions of a call: where to look, for how many candidates, and among which concepts."""

    kb: KnowledgeBase
    index: Index
    top_k: int
    only: ConceptMask | None = None

    @cached_property
    def _names(self) -> npt.NDArray[np.bool_] | None:
        return None if self.only is None else names_of(self.kb, self.only)

    def ranked(self, vectors: Vectors) -> list[Ranked]:
        """Return the concepts of the names nearest to each vector, best first."""
        found = [Ranked()] * len(vectors)
        queries = list(range(len(vectors)))
        max_k = len(self.index) if self._names is None else int(self._names.sum())
        enough = min(self.top_k, len(self.kb) if self.only is None else int(self.only.sum()))
        k = min(_WIDER * self.top_k, max_k)
        while queries and k and enough:
            few = []
            for row, (best, is_cut, are_tied) in enumerate(self._iter_ranked(vectors, k)):
                found[queries[row]] = best
                are_few = len(best.candidates) < enough or (are_tied and k < _MAX_TIED)
                if are_few and is_cut and k < max_k:
                    few.append(row)
            queries, vectors = [queries[row] for row in few], vectors[few]
            k = min(_WIDER * k, max_k)
        return found

    def _iter_ranked(self, vectors: Vectors, k: int) -> Iterator[tuple[Ranked, bool, bool]]:
        """Yield for each vector the concepts of its `k` nearest names; if the index has more; if all names share a score."""
        rows = max(1, _MAX_FOUND // k)
        for start in range(0, len(vectors), rows):
            scores, names = self.index.search(vectors[start : start + rows], k, self._names)
            for score, name in zip(scores, names, strict=True):
                is_name = name >= 0
                best = zip(name[is_name].tolist(), score[is_name].tolist(), strict=True)
                yield rank_concepts(self.kb, best, self.top_k, self.only), bool(is_name.all()), bool(score[0] == score[-1])
