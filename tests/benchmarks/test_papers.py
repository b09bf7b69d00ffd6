"""Tests of the reranker benchmark in the papers' evaluation settings: regression features, answers, and stored rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.results.papers import rows
from benchmarks.results.papers.parts import COLUMNS, Regression
from benchmarks.results.papers.predict import answer_with_names, distinct
from benchmarks.results.store import Judged

from onym.kb import KnowledgeBase
from onym.methods.reranker.pool import Pooling
from onym.methods.trees.memory import KbMemory, Memory
from onym.models.encoder import Vectors
from onym.text.queries import queries_of
from onym.types import Document, Mention

MARKS = "<!-- papers: begin -->\n<!-- papers: end -->"


class _Letters:
    """A toy encoder: texts with the same first letter get the same one-hot vector."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        found = np.zeros((len(texts), 128), dtype=np.float32)
        found[np.arange(len(texts)), [ord(text[0]) % 128 for text in texts]] = 1
        return found


def _doc(number: int, surface: str, *ids: str) -> Document:
    return Document(str(number), surface, (Mention(0, len(surface), surface, ids),))


def test_regression_scores_concepts_of_similar_surfaces(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    concept = kb.concept_ids[0]
    memory = KbMemory(Memory.of(Counter({("hot all over", concept, ""): 2, ("quite weak", kb.concept_ids[1], ""): 1})), kb)
    pool = Pooling(kb, memory).pool([queries_of(_doc(1, "hot all of me", concept))], {})
    found = Regression.of(memory, kb, _Letters()).features(pool)
    assert found.shape == (len(pool), len(COLUMNS))
    own, margin, better, best = found[pool.concepts.tolist().index(0)]
    assert own == best > 0.3
    assert (margin, better) == (0, 0)


def test_answers_contain_all_concepts_of_a_name(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    shared = kb.find("mi")
    one, other = kb.name_concepts[shared].tolist()
    answers = answer_with_names(kb, [(other, shared, 0.9), (one, shared, 0.1)])
    assert answers == (((kb.concept_ids[other],), 0.9, 0), ((kb.concept_ids[one],), 0.9, 0))


def test_drops_repeated_single_mention_documents() -> None:
    documents = [_doc(1, "pain", "a:1"), _doc(2, "pain", "a:1"), _doc(3, "pain", "a:2")]
    assert [doc.id for doc in distinct(documents)] == ["1", "3"]


def test_stores_rows_and_averages_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "PAPERS", tmp_path)
    figures = {"any_id_r1": 90.0, "strict_r1": 89.0, "any_id_r5": 95.0, "low": 88.0, "high": 92.0, "mentions": 9, "in_kb": 8}
    for key, first in (("ncbi_disease", 91.0), ("askapatient_fold0", 90.0), ("askapatient_fold1", 92.0)):
        rows.keep_row(key, "test", Judged(figures | {"any_id_r1": first}, (), {}), {})
    kept = rows.read_rows()
    assert rows.figures_of(kept, "dev") == {}
    found = rows.figures_of(kept, "test")
    assert (found["ncbi_disease"]["any_id_r1"], found["askapatient"]["any_id_r1"], found["askapatient"]["folds"]) == (91, 91, 2)
    page = rows.page_with(kept, MARKS)
    assert "| `ncbi_disease` | test | 91.0 | 88.0–92.0 | 89.0 | 95.0 | 8 of 9 | 92.8 |" in page
    assert "| `askapatient` | test | 91.0 | 90.0–92.0 | 89.0 | 95.0 | 2 folds | 90.2 |" in page
