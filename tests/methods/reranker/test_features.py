"""Tests of the reranker's features."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from onym.kb import KnowledgeBase
from onym.kb.ranking import Ranked
from onym.methods.reranker.features import FEATURES, NAMES, FeatureMaker
from onym.methods.reranker.pool import Pool, Pooling
from onym.methods.trees.memory import KbMemory, Memory
from onym.text.queries import queries_of
from onym.text.similarity import NameSimilarity
from onym.types import Candidate, Document, Mention

HEART, FEVER, PRESSURE = "mesh:D009203", "mesh:D005334", "mesh:D006973"


class Made:
    """Feature values by concept id and feature name."""

    def __init__(self, kb: KnowledgeBase, counts: Counter[tuple[str, str, str]]) -> None:
        self.kb = kb
        memory = KbMemory(Memory.of(counts), kb)
        self.pooling, self.maker = Pooling(kb, memory), FeatureMaker(kb, memory, NameSimilarity.of(kb.names))

    def pool(self, doc: Document, **candidates: list[list[Candidate]]) -> Pool:
        ranked = {name: [Ranked(tuple(found)) for found in each] for name, each in candidates.items()}
        return self.pooling.pool([queries_of(doc)], ranked)

    def of(self, doc: Document, mention: int = 0, **candidates: list[list[Candidate]]) -> dict[str, dict[str, float]]:
        pool = self.pool(doc, **candidates)
        matrix = self.maker.features(pool).matrix
        rows = np.flatnonzero(pool.owners == mention)
        return {self.kb.concept_ids[pool.concepts[row]]: dict(zip(NAMES, matrix[row].tolist(), strict=True)) for row in rows}


@pytest.fixture
def sample(tiny_kb: Path) -> Made:
    counts = Counter({("mi", HEART, "Disease"): 3, ("mi", PRESSURE, "Disease"): 1, ("chill", FEVER, "Sign"): 2})
    return Made(KnowledgeBase.open(tiny_kb), counts)


def document(text: str, *surfaces: str, kind: str = "") -> Document:
    return Document("1", text, tuple(Mention(text.rindex(s), text.rindex(s) + len(s), s, type=kind) for s in surfaces))


def test_names_are_unique() -> None:
    assert len(set(NAMES)) == len(FEATURES)
    assert all(feature.meaning and feature.group for feature in FEATURES)


def test_similarity_and_name(sample: Made) -> None:
    found = sample.of(document("old heart attacks", "heart attacks"), tfidf=[[Candidate(HEART, "heart attack", 0.9)]])[HEART]
    assert 0.7 < found["tfidf"] < 1
    assert found["preferred_tfidf"] < 0.2
    assert (found["similar_names"], found["words_missing"], found["words_extra"], found["is_last_word"]) == (1, 0, 0, 1)
    assert (found["kind"], found["is_named"], found["firsts"]) == (1, 1, 3)  # its singular is a name
    assert np.isnan(found["dense"])
    assert np.isnan(found["group_share"])


def test_exactness_ambiguity_and_memory(sample: Made) -> None:
    found = sample.of(document("MI", "MI"))
    heart, pressure = found[HEART], found[PRESSURE]
    assert (heart["is_named"], heart["named"], heart["sharing"], heart["candidates"]) == (1, 2, 2, 2)
    assert (heart["recalled"], heart["recalled_share"], pressure["recalled_share"]) == (3, 0.75, 0.25)
    assert (heart["query_count"], heart["concept_count"], pressure["concept_count"]) == (4, 3, 1)
    assert (heart["capitals"], heart["length"], heart["words"]) == (1.0, 2, 1)
    assert heart["tfidf_margin"] == pressure["tfidf_margin"] == 0


def test_type_agreement_comes_from_the_memory(sample: Made) -> None:
    both = [[Candidate(HEART, "mi", 1.0), Candidate(FEVER, "fever", 0.1)]]
    disease = sample.of(document("MI", "MI", kind="Disease"), other=both)
    assert disease[HEART]["type_share"] > disease[FEVER]["type_share"]
    assert disease[FEVER]["type_margin"] > 0
    sign = sample.of(document("MI", "MI", kind="Sign"), other=both)
    assert sign[HEART]["type_share"] < sign[FEVER]["type_share"]
    unknown = sample.of(document("MI", "MI", kind="Gene"), other=both)
    assert np.isnan(unknown[HEART]["type_share"])


def test_the_rest_of_the_document(sample: Made) -> None:
    doc = document("Myocardial infarct: a heart attack, an infarct, MI, MI", "heart attack", "infarct", "MI")
    found = sample.of(doc, 1, tfidf=[[], [Candidate(HEART, "mi", 0.3)], []])[HEART]
    assert (found["named_elsewhere"], found["recalled_elsewhere"], found["named_longer"]) == (2, 1, 0)
    longer = sample.of(document("heart attack; attack", "heart attack", "attack"), 1, tfidf=[[], [Candidate(HEART, "", 0.3)]])
    assert longer[HEART]["named_longer"] == 1
    expanded = sample.of(document("Hypertension (HT). The HT", "HT"))[PRESSURE]
    assert (expanded["is_expanded"], expanded["is_named"], expanded["is_surface_named"]) == (1, 1, 0)


def test_a_linker_that_proposes(sample: Made) -> None:
    dense = [[Candidate(FEVER, "fever", 0.8), Candidate(HEART, "mi", 0.5)]]
    found = sample.of(document("ague", "ague"), dense=dense)
    assert (found[FEVER]["dense"], found[FEVER]["dense_margin"], found[FEVER]["dense_rank"]) == (0.8, 0, 0)
    assert (round(found[HEART]["dense_margin"], 6), found[HEART]["dense_rank"]) == (0.3, 1)
    assert (found[FEVER]["firsts"] - found[HEART]["firsts"], found[HEART]["proposals"]) == (1, 1)


def test_no_pairs(sample: Made) -> None:
    assert sample.maker.features(sample.pool(document("ague", "ague"))).matrix.shape == (0, len(FEATURES))
    assert sample.maker.features(sample.pooling.pool([], {})).matrix.shape == (0, len(FEATURES))
