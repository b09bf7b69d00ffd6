"""From annotated documents to what trees learn from: the features of each pair of a mention and a candidate, and its label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onym.evaluate.cases import ConceptResolver
from onym.rerank.features import FeatureMaker
from onym.rerank.pool import Floats, Ints, Pooling
from onym.text.analysis import analysed
from onym.train.rerank.context import RerankContext
from onym.types import Document, Mention

_BATCH = 64  # documents


class Pairs(NamedTuple):
    """Pairs of mentions and candidates: features, whether the candidate is right, and the row of its mention.

    Of each mention: whether all its gold ids are in the knowledge base, and whether the memory knows its surface.
    """

    matrix: Floats
    is_right: npt.NDArray[np.bool_]
    owners: Ints
    concepts: Ints
    is_in_kb: npt.NDArray[np.bool_]
    is_seen: npt.NDArray[np.bool_]
    types: npt.NDArray[np.object_]


def pairs_of(context: RerankContext, documents: Sequence[Document], *, is_training: bool) -> Pairs:
    """Return the pairs of all mentions with a gold id. Of training documents the memory's own counts are taken away."""
    pooling = Pooling(context.kb, context.memory)
    maker = FeatureMaker(context.kb, context.memory, context.parts.similarity)
    resolver = ConceptResolver(context.kb)
    found, before = [], 0
    for batch in _batches(documents):
        own = [context.own(doc) for doc in batch] if is_training else None
        pool = pooling.pool(batch, context.parts.propose(batch), own=own)
        gold = [right_concepts(each.mention, resolver) for each in pool.mentions]
        ids = [context.kb.concept_ids[concept] for concept in pool.concepts.tolist()]
        found.append(
            Pairs(
                matrix=maker.features(pool).matrix,
                is_right=np.array([one in gold[owner] for one, owner in zip(ids, pool.owners, strict=True)], dtype=bool),
                owners=pool.owners + before,
                concepts=pool.concepts,
                is_in_kb=np.array([resolver.is_in_kb(each.mention) for each in pool.mentions], dtype=bool),
                is_seen=np.array([bool(each.recalled_query or each.recalled_surface) for each in pool.mentions], dtype=bool),
                types=np.array([each.mention.type for each in pool.mentions], dtype=object),
            )
        )
        before += len(pool.mentions)
    return joined(found)


def joined(parts: Sequence[Pairs]) -> Pairs:
    """Return pairs one after the other; their owners are already numbered through."""
    return Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def right_concepts(mention: Mention, resolver: ConceptResolver) -> frozenset[str]:
    """Return the concepts that are the one right answer; none for a composite, which no single concept is."""
    groups: list[frozenset[str]] = []
    for concept_id in dict.fromkeys(mention.concept_ids):
        group = resolver.concepts_with_id(concept_id)
        if not any(group & other for other in groups):
            groups.append(group)
    return groups[0] if len(groups) == 1 else frozenset()


def _batches(documents: Sequence[Document]) -> Iterator[list[Document]]:
    for start in range(0, len(documents), _BATCH):
        yield [analysed(doc) for doc in documents[start : start + _BATCH]]
