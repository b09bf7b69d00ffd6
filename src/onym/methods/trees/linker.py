"""Linkers that score candidates with trees, one document at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from onym.kb.ranking import Best, ConceptMask, Ranked, rank_scored
from onym.methods.base import Linker, Rank
from onym.methods.trees.trees import Calibrated
from onym.text.queries import documents_of
from onym.types import Document


class TreesLinker(Linker):
    """A linker that reads one document at a time and scores candidates with trees; a score is a probability."""

    reads_context = decides_names = keeps_answers = True
    stage: ClassVar[str]
    model: Calibrated

    @abstractmethod
    def score(self, doc: Document) -> Iterable[Best]:
        """Yield the candidates of each mention of a document: the score and the matching name of each concept."""

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that ranks the candidates of each query, most probable first."""

        def rank(best: Best) -> Ranked:
            left = best if allowed is None else {concept: scored for concept, scored in best.items() if allowed[concept]}
            ranked = rank_scored(self.kb, left, top_k)
            if not ranked.candidates:
                return ranked
            return replace(ranked, stage=self.stage, confidence=self.model.confidence(ranked.candidates[0].score))

        return lambda queries: [rank(best) for doc in documents_of(queries) for best in self.score(doc)]
