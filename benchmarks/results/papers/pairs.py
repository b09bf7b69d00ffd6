"""Candidates of mentions with the features of the reranker and those of a regression: to learn from, and to answer with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from benchmarks.results.papers.encoder import RememberingEncoder
from benchmarks.results.papers.regression import COLUMNS, Regression
from onym.evaluate.cases import ConceptResolver
from onym.index.build import index_in_memory
from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.linkers.rerank import RerankParts, open_parts
from onym.models.torch_encoder import Encoder
from onym.parts import OpenContext
from onym.rerank.features import NAMES, FeatureMaker
from onym.rerank.memory import KbMemory, Memory, count_mentions
from onym.rerank.pool import Floats, Ints, Pool, Pooling
from onym.text.analysis import analysed
from onym.types import Document, Mention

ALL_COLUMNS = (*NAMES, *COLUMNS)
_BATCH = 256  # documents


@dataclass(frozen=True)
class Candidates:
    """The candidates of the mentions of some documents: features of each pair, and the name it was compared by."""

    documents: Sequence[Document]
    pool: Pool
    matrix: Floats
    names: Ints

    def is_right(self, resolver: ConceptResolver, kb: KnowledgeBase) -> npt.NDArray[np.bool_]:
        """Return which pairs are a gold concept of their mention."""
        gold = [_gold(each.mention, resolver) for each in self.pool.mentions]
        pairs = zip(self.pool.concepts.tolist(), self.pool.owners.tolist(), strict=True)
        return np.array([kb.concept_ids[concept] in gold[owner] for concept, owner in pairs], dtype=bool)


class Proposing:
    """Proposes candidates over a knowledge base with the memory of documents that are known.

    With `is_dense` the encoder's nearest names are candidates too; all names have to be encoded for that.
    """

    def __init__(self, kb: KnowledgeBase, known: Sequence[Document], encoder: RememberingEncoder, *, is_dense: bool) -> None:
        self.kb = kb
        memory = KbMemory(Memory.of(count_mentions(known)), kb)
        parts = open_parts(kb, OpenContext())
        if is_dense:
            as_encoder = cast(Encoder, encoder)  # it has all that is asked of one
            dense = DenseLinker(kb, as_encoder, index_in_memory(kb, as_encoder))
            parts = RerankParts({**parts.linkers, "dense": dense}, parts.similarity)
        self._parts = parts
        self._pooling, self._features = Pooling(kb, memory), FeatureMaker(kb, memory, parts.similarity)
        self._regression = Regression.of(memory, kb, encoder)

    def candidates(self, documents: Sequence[Document]) -> Iterator[Candidates]:
        """Yield the candidates of documents, batch by batch."""
        for start in range(0, len(documents), _BATCH):
            docs = [analysed(doc) for doc in documents[start : start + _BATCH]]
            pool = self._pooling.pool(docs, self._parts.propose(docs))
            found = self._features.features(pool)
            yield Candidates(docs, pool, np.hstack((found.matrix, self._regression.features(pool))), found.names)


def _gold(mention: Mention, resolver: ConceptResolver) -> frozenset[str]:
    return frozenset[str]().union(*map(resolver.concepts_with_id, mention.concept_ids))
