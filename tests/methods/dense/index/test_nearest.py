"""Tests that nearest concepts agree with a brute-force search over all names."""

from __future__ import annotations

import numpy as np
import pytest

from onym.kb import KnowledgeBase
from onym.kb.ranking import Ranked, concepts_with_ids
from onym.methods.dense.index.build import index_in_memory
from onym.methods.dense.index.search import Nearest
from tests.methods.dense.index.made import Hashed, names_of

pytest.importorskip("faiss")


@pytest.mark.parametrize("top_k", [1, 2, 10])
@pytest.mark.parametrize("wanted", [(), ("mesh:D009203", "mesh:D005334")])
def test_concepts_by_their_nearest_name(tiny_kb: object, top_k: int, wanted: tuple[str, ...]) -> None:
    kb = KnowledgeBase.open(str(tiny_kb))
    encoder = Hashed()
    only = concepts_with_ids(kb, wanted) if wanted else None
    vectors = encoder.encode(["heart attack", "something else"])
    found = Nearest(kb, index_in_memory(kb, encoder), top_k, only).rank(vectors)
    scores = vectors @ encoder.encode(names_of(kb)).T
    for ranked, own in zip(found, scores, strict=True):
        candidates = ranked.candidates
        best = {
            kb.concept_ids[concept]: max(float(own[name]) for name in kb.names_of(concept))
            for concept in range(len(kb))
            if only is None or only[concept]
        }
        order = sorted(best, key=lambda concept: -best[concept])[:top_k]
        assert [candidate.concept_id for candidate in candidates] == order
        np.testing.assert_allclose([candidate.score for candidate in candidates], [best[each] for each in order], rtol=1e-5)


def test_no_vectors_and_no_concepts(tiny_kb: object) -> None:
    kb = KnowledgeBase.open(str(tiny_kb))
    encoder = Hashed()
    index = index_in_memory(kb, encoder)
    assert Nearest(kb, index, 5).rank(encoder.encode([])) == []
    none = np.zeros(len(kb), dtype=np.bool_)
    assert Nearest(kb, index, 5, none).rank(encoder.encode(["fever"])) == [Ranked()]
