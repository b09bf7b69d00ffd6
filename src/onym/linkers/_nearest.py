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
from onym.kb.ranking import rank_concepts
from onym.types import Candidate

_WIDER = 4  # names asked for a candidate, and how many times as many when those are of too few concepts
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

    def candidates(self, vectors: Vectors) -> list[tuple[Candidate, ...]]:
        """Return the concepts of the names nearest to each vector, best first."""
        found: list[tuple[Candidate, ...]] = [()] * len(vectors)
        queries = list(range(len(vectors)))
        max_k = len(self.index) if self._names is None else int(self._names.sum())
        enough = min(self.top_k, len(self.kb) if self.only is None else int(self.only.sum()))
        k = min(_WIDER * self.top_k, max_k)
        while queries and k and enough:
            few = []
            for row, (best, is_all) in enumerate(self._ranked(vectors, k)):
                found[queries[row]] = best
                if len(best) < enough and k < max_k and not is_all:
                    few.append(row)
            queries, vectors = [queries[row] for row in few], vectors[few]
            k = min(_WIDER * k, max_k)
        return found

    def _ranked(self, vectors: Vectors, k: int) -> Iterator[tuple[tuple[Candidate, ...], bool]]:
        """Yield for each vector the concepts of its `k` nearest names, and whether the index has no more for it."""
        rows = max(1, _MAX_FOUND // k)
        for start in range(0, len(vectors), rows):
            scores, names = self.index.search(vectors[start : start + rows], k, self._names)
            for score, name in zip(scores, names, strict=True):
                is_name = name >= 0
                best = zip(name[is_name].tolist(), score[is_name].tolist(), strict=True)
                yield rank_concepts(self.kb, best, self.top_k, self.only), not is_name.all()
