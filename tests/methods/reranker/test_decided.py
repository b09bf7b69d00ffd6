"""Tests that a name which decides comes first, whatever a linker says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.evaluate.own_names import check_names
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.ranking import ConceptMask, rank_scored
from onym.kb.recipe import Recipe
from onym.methods import linker_config, open_linker
from onym.methods.base import Linker, Rank
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.reranker.decided import LEAST, let_names_decide
from onym.methods.reranker.features import NAMES
from onym.methods.reranker.linker import RerankLinker, RerankLinkerConfig
from onym.methods.reranker.model import open_reranker
from onym.methods.trees.memory import Memory, count_mentions
from onym.pipeline import Pipeline, PipelineOptions
from onym.text.queries import queries_of
from onym.types import Document, Mention
from tests.methods.reranker.test_model import write_folder
from tests.support.linking import link_with

MESH = "id\tname\tsynonyms\nmesh:D1\tBreast Neoplasms\tbreast cancer|tumour of the breast\nmesh:D2\tHepatitis\t\n"
MONDO = "id\tname\tsynonyms\nmondo:1\tbreast cancer\t\nmondo:2\tlung cancer\ttumour of the breast\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decided")
    for name, table in (("mesh", MESH), ("mondo", MONDO)):
        (folder / f"{name}.tsv").write_text(table)
    build_kb(Recipe.of({"sources": [{"path": "mesh.tsv"}, {"path": "mondo.tsv"}]}), folder / "kb", root=folder)
    return folder / "kb"


def make_mention(text: str, surface: str) -> Document:
    start = text.rindex(surface)
    return Document("1", text, (Mention(start, start + len(surface), surface),))


class Scores(Linker):
    """A linker that gives each concept a fixed score, whatever the mention."""

    def __init__(self, kb: KnowledgeBase, scores: dict[int, float]) -> None:
        self.kb, self.scores = kb, scores

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "scores"}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        found = {row: score for row, score in self.scores.items() if allowed is None or allowed[row]}
        best = {row: (score, int(self.kb.names_of(row)[0])) for row, score in found.items()}
        return lambda queries: [rank_scored(self.kb, best, top_k)] * len(queries)


@given(
    st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=4, max_size=4), st.sampled_from([(), ("mesh",), ("mondo",)]), st.data()
)
def test_a_name_that_decides_comes_first_in_any_pipeline(
    folder: Path, scores: list[float], prefer: Any, data: st.DataObject
) -> None:
    kb = KnowledgeBase.open(folder, prefer=prefer)
    linker = Scores(kb, dict(enumerate(scores[: data.draw(st.integers(1, 4))])))
    top_k = data.draw(st.integers(1, 4))
    name = data.draw(st.sampled_from(list(kb.names)))
    pipeline = Pipeline(linker, options=PipelineOptions(top_k=top_k, assertion=False))
    [link] = pipeline.link(make_mention(name, name)).links
    [plain] = next(link_with(linker, [make_mention(name, name)], top_k=top_k)).links
    concept = kb.order.meaning(kb.names.find(name))
    if concept < 0:
        assert link == plain
    else:
        assert link.concept_id == kb.concept_ids[concept]
        assert link.candidates[0].score == plain.candidates[0].score
        assert len(link.candidates) == len(plain.candidates)
        assert len({each.concept_id for each in link.candidates}) == len(link.candidates)


@pytest.mark.parametrize(("prefer", "concept"), [([], "mondo:1"), (["mesh"], "mesh:D1"), (["mondo"], "mondo:1")])
@pytest.mark.parametrize("kind", ["exact", "tfidf", "rerank"])
def test_prefer_decides_between_vocabularies(folder: Path, tmp_path: Path, kind: str, prefer: list[str], concept: str) -> None:
    kb = KnowledgeBase.open(folder, prefer=prefer)
    options = {"model": str(write_folder(tmp_path / "model"))} if kind == "rerank" else {}
    pipeline = Pipeline(open_linker(linker_config(kind, **options), kb), DictionaryDetector(kb))
    assert [link.concept_id for link in pipeline.link("No breast cancer.").links] == [concept]
    assert check_names(pipeline).exceptions == ()


@pytest.mark.parametrize("kind", ["exact", "tfidf"])
@pytest.mark.parametrize("top_k", [1, 5])
def test_an_own_name_comes_before_a_lent_one_of_an_earlier_vocabulary(tmp_path: Path, kind: str, top_k: int) -> None:
    tables = {
        "mesh": "id\tname\tsynonyms\txrefs\nmesh:D1\tnephrosis\t\tcas:1\n",
        "hp": "id\tname\tsynonyms\nhp:1\tnecrosis of tubules\ttubular necrosis\n",
        "lender": "id\tname\tsynonyms\txrefs\nx:1\tnephrosis\ttubular necrosis\tcas:1\n",
    }
    for name, table in tables.items():
        (tmp_path / f"{name}.tsv").write_text(table)
    sources = [{"path": "mesh.tsv"}, {"path": "hp.tsv"}, {"path": "lender.tsv", "only_joined": True}]
    build_kb(Recipe.of({"sources": sources, "joins": {"shared_ids": ["cas"]}}), tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    pipeline = Pipeline(open_linker(linker_config(kind), kb), DictionaryDetector(kb), PipelineOptions(top_k=top_k))
    [link] = pipeline.link("No tubular necrosis.").links
    assert (link.concept_id, link.tied) == ("hp:1", 1)
    assert check_names(pipeline).exceptions == ()


def test_the_expansion_of_an_abbreviation_decides(folder: Path) -> None:
    kb = KnowledgeBase.open(folder)
    doc = make_mention("Breast cancer (BC) and BC", "BC")
    [link] = Pipeline(Scores(kb, {3: 0.9})).link(doc).links
    assert link.concept_id == "mondo:1"


def test_restrict_decides_among_the_allowed_concepts(folder: Path) -> None:
    kb = KnowledgeBase.open(folder)
    options = PipelineOptions(concepts=("mesh:D1", "mesh:D2"))
    pipeline = Pipeline(Scores(kb, {0: 0.2, 1: 0.9}), options=options)
    doc = make_mention("breast cancer", "breast cancer")
    assert pipeline.link(doc).links[0].nil_reason == "filtered-out"
    assert pipeline.with_filter(restrict=True).link(doc).links[0].concept_id == "mesh:D1"


def rerank_linker(folder: Path, tmp_path: Path, annotated: str, *, follow: bool, prefer: tuple[str, ...] = ()) -> RerankLinker:
    """Return a reranker whose memory holds *hepatitis* or *breast cancer* three times with another concept."""
    kb = KnowledgeBase.open(folder, prefer=prefer)
    opened = open_reranker(write_folder(tmp_path / "model"))
    docs = [replace(make_mention(annotated, annotated), id=str(i)) for i in range(3)]
    marked = [replace(doc, mentions=(replace(doc.mentions[0], concept_ids=("mesh:D1",)),)) for doc in docs]
    reranker = replace(opened, memory=Memory.of(count_mentions(marked)))
    parts = open_linker(linker_config("rerank", model=str(tmp_path / "model")), kb).parts  # type: ignore[attr-defined]
    return RerankLinker(kb, reranker, parts, RerankLinkerConfig(follow_annotations=follow))


def features_of(linker: RerankLinker, text: str) -> dict[str, dict[str, float]]:
    queries = queries_of(make_mention(text, text))
    pool = linker._pooling.pool([queries], linker.parts.propose(queries))
    matrix = linker._features.features(pool).matrix
    ids = [linker.kb.concept_ids[concept] for concept in pool.concepts.tolist()]
    return {concept: dict(zip(NAMES, row.tolist(), strict=True)) for concept, row in zip(ids, matrix, strict=True)}


def test_annotations_of_another_vocabulary_do_not_count_against_a_name(folder: Path, tmp_path: Path) -> None:
    linker = rerank_linker(folder, tmp_path, "breast cancer", follow=False)
    found = features_of(linker, "breast cancer")
    assert (found["mondo:1"]["decides"], found["mesh:D1"]["decides"]) == (1, 0)
    assert found["mesh:D1"]["recalled"] == found["mondo:1"]["query_count"] == 0
    preferring = rerank_linker(folder, tmp_path / "other", "breast cancer", follow=False, prefer=("mesh",))
    found = features_of(preferring, "breast cancer")
    assert (found["mesh:D1"]["decides"], found["mesh:D1"]["recalled"]) == (1, 3)


@pytest.mark.parametrize(("prefer", "written"), [((), "breast cancer"), (("mondo",), "breast cancer"), ((), "hepatitis")])
def test_clear_annotations_decide_before_names(folder: Path, tmp_path: Path, written: str, prefer: tuple[str, ...]) -> None:
    for follow, concept in ((True, "mesh:D1"), (False, "mesh:D2" if written == "hepatitis" else "mondo:1")):
        linker = rerank_linker(folder, tmp_path / str(follow), written, follow=follow, prefer=prefer)
        [linked] = link_with(linker, [make_mention(written, written)])
        assert linked.links[0].concept_id == concept
        assert linked.links[0].candidates[0].score >= LEAST
        assert ("follow_annotations" in linker.config) == follow
        assert features_of(linker, written)[concept]["decides"] == 1


def test_annotations_are_followed_by_default() -> None:
    assert RerankLinkerConfig().follow_annotations
    assert not RerankLinkerConfig.from_options({"follow_annotations": False}).follow_annotations


def test_a_filter_leaves_out_what_annotations_decide(folder: Path, tmp_path: Path) -> None:
    linker = rerank_linker(folder, tmp_path, "breast cancer", follow=True)
    only = np.array([linker.kb.concept_ids[row].startswith("mondo") for row in range(len(linker.kb))])
    [linked] = link_with(linker, [make_mention("breast cancer", "breast cancer")], only=only)
    assert linked.links[0].concept_id == "mondo:1"


def test_few_annotations_leave_a_name_to_the_trees() -> None:
    matrix = np.zeros((2, len(NAMES)))
    matrix[0, NAMES.index("decides")], matrix[:, NAMES.index("query_count")] = 1, 2
    matrix[1, NAMES.index("recalled_share")] = 1
    raw, owners = np.array([0.2, 0.7]), np.zeros(2, dtype=np.int64)
    assert let_names_decide(raw, matrix, owners, follow_annotations=True).tolist() == raw.tolist()
    assert let_names_decide(raw, matrix, owners).tolist() == pytest.approx([LEAST, 1 - LEAST])


@given(st.data())
def test_names_decide_in_any_matrix(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    owners = np.repeat(np.arange(len(sizes)), sizes)
    probabilities = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(owners), max_size=len(owners))))
    matrix = np.zeros((len(owners), len(NAMES)))
    matrix[:, NAMES.index("decides")] = np.nan
    decided = {}
    for owner, size in enumerate(sizes):
        if data.draw(st.booleans()):
            rows = np.flatnonzero(owners == owner)
            decided[owner] = int(rows[data.draw(st.integers(0, size - 1))])
            matrix[rows, NAMES.index("decides")] = 0
            matrix[decided[owner], NAMES.index("decides")] = 1
    found = let_names_decide(probabilities, matrix, owners)
    assert ((found >= 0) & (found <= 1)).all()
    for owner in range(len(sizes)):
        rows = owners == owner
        if owner in decided:
            assert found[decided[owner]] == max(LEAST, probabilities[decided[owner]])
            others = rows.copy()
            others[decided[owner]] = False
            assert (found[others] < found[decided[owner]]).all()
        else:
            assert (found[rows] == probabilities[rows]).all()


def test_a_known_name_comes_first_unless_documents_say_otherwise() -> None:
    matrix = np.zeros((3, len(NAMES)))
    matrix[:, NAMES.index("decides")] = np.nan
    matrix[1:, NAMES.index("is_named")] = 1
    owners = np.array([0, 0, 0])
    found = let_names_decide(np.array([0.7, 0.4, 0.2]), matrix, owners)
    assert found.argmax() == 1, "the best of the concepts that have the name"
    assert found[1:].tolist() == [0.4, 0.2]
    reordered = let_names_decide(np.array([0.3, 0.7, 0.9, 0.8]), matrix[[1, 0, 0, 0]], np.zeros(4, dtype=np.int64))
    assert np.argsort(-reordered).tolist() == [0, 2, 3, 1], "the others keep their order"
    matrix[:, NAMES.index("query_count")] = 2
    assert let_names_decide(np.array([0.7, 0.4, 0.2]), matrix, owners).argmax() == 0, "annotated documents know the text"
