"""Tests of the reranker's candidate pool, which combines several sources of candidates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from onym.kb import KnowledgeBase
from onym.kb.ranking import Ranked, concepts_with_ids
from onym.methods.reranker.pool import Pooling
from onym.methods.trees.memory import KbMemory, Memory
from onym.text.queries import queries_of
from onym.types import Candidate, Document, Mention

HEART, FEVER, PRESSURE = "mesh:D009203", "mesh:D005334", "mesh:D006973"


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def pooling(kb: KnowledgeBase) -> Pooling:
    counts = Counter({("high temperature", FEVER, "Disease"): 3, ("mi", HEART, "Disease"): 1})
    return Pooling(kb, KbMemory(Memory.of(counts), kb))


def document(text: str, *surfaces: str) -> Document:
    return Document("1", text, tuple(Mention(text.rindex(s), text.rindex(s) + len(s), s) for s in surfaces))


def ids(kb: KnowledgeBase, concepts: np.ndarray) -> list[str]:
    return [kb.concept_ids[concept] for concept in concepts.tolist()]


def test_each_source_is_in_the_pool(kb: KnowledgeBase, pooling: Pooling) -> None:
    doc = document("Myocardial infarction (MI), high temperatures: MI", "high temperatures", "MI")
    ranked = Ranked((Candidate(PRESSURE, "hypertension", 0.25),))
    pool = pooling.pool([queries_of(doc)], {"other": [ranked, Ranked()]})
    first, second = np.split(pool.concepts, pool.offsets[1:-1])
    # Candidates from a similar surface in the memory, and from another linker.
    assert sorted(ids(kb, first)) == sorted([FEVER, PRESSURE])
    # Candidates from the long form, and from the surface as a KB name.
    assert sorted(ids(kb, second)) == sorted([HEART, PRESSURE])
    assert pool.owners.tolist() == [0, 0, 1, 1]
    at = ids(kb, first).index(PRESSURE)
    assert (pool.scores["other"][at], pool.ranks["other"][at]) == (0.25, 0)
    assert np.isnan(np.delete(pool.scores["other"], at)).all()


def test_respects_the_filter(kb: KnowledgeBase, pooling: Pooling) -> None:
    pool = pooling.pool([queries_of(document("MI", "MI"))], {}, concepts_with_ids(kb, [PRESSURE]))
    assert ids(kb, pool.concepts) == [PRESSURE]


def test_subtracts_counts_of_the_document_itself(kb: KnowledgeBase, pooling: Pooling) -> None:
    queries = queries_of(document("high temperature", "high temperature"))
    (fever,) = kb.resolve(FEVER)
    assert pooling.pool([queries], {}).counts.tolist() == [3]
    pool = pooling.pool([queries], {}, own=[{"high temperature": {fever: 2}}])
    assert (pool.counts.tolist(), pool.mentions[0].recalled_query) == ([1], {fever: 1})
    assert len(pooling.pool([queries], {}, own=[{"high temperature": {fever: 3}}])) == 0


def test_no_mentions_and_no_memory(kb: KnowledgeBase) -> None:
    pooling = Pooling(kb, KbMemory(Memory.of(Counter()), kb))
    assert len(pooling.pool([], {})) == 0
    assert len(pooling.pool([queries_of(Document("1", "fever"))], {})) == 0
    assert ids(kb, pooling.pool([queries_of(document("fever", "fever"))], {}).concepts) == [FEVER]


def test_adds_candidates_of_an_alias_in_brackets(kb: KnowledgeBase, pooling: Pooling) -> None:
    doc = document("Pyrexia (XX-12) and XX-12 again", "Pyrexia", "XX-12")
    first = Mention(9, 14, "XX-12")
    doc = Document("1", doc.text, (doc.mentions[0], first, doc.mentions[1]))
    pool = pooling.pool([queries_of(doc)], {})
    assert ids(kb, pool.concepts) == [FEVER] * 3
    assert [list(each.values()) for each in pool.aliases] == [[], [1.0], [1.0]]
    apart = Document("1", "Pyrexia or (XX-12)", (Mention(0, 7, "Pyrexia"), Mention(12, 17, "XX-12")))
    assert ids(kb, pooling.pool([queries_of(apart)], {}).concepts) == [FEVER]


def test_skips_linkers_for_names(kb: KnowledgeBase) -> None:
    pooling = Pooling(kb, KbMemory(Memory.of(Counter()), kb), skips_names=True)
    queries = queries_of(document("fever or feverish", "fever", "feverish"))
    ranked = {"other": [Ranked((Candidate(PRESSURE, "hypertension", 0.5),)) for _ in queries]}
    first, second = np.split((pool := pooling.pool([queries], ranked)).concepts, pool.offsets[1:-1])
    assert (ids(kb, first), ids(kb, second)) == ([FEVER], [PRESSURE])
