"""Tests of the reranker as a linker; its training is tested in tests/train."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import Ranked, concepts_with_ids
from onym.methods import linker_config, open_linker
from onym.methods.base import Linker
from onym.methods.reranker.linker import RerankLinker, RerankLinkerConfig
from onym.packs import load
from onym.pipeline import build_pipeline
from onym.text.queries import queries_of
from onym.types import Document, Mention
from tests.methods.reranker.test_model import ORIGIN, write_folder
from tests.support.linking import link_with
from tests.support.models import save_encoder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a reranker that accepts a name if and only if its similarity is above 0.5."""
    return write_folder(tmp_path_factory.mktemp("rerank") / "model")


@pytest.fixture
def linker(model: Path, tiny_kb: Path) -> Linker:
    return open_linker(linker_config("rerank", model=str(model)), KnowledgeBase.open(tiny_kb))


def document(text: str, *surfaces: str) -> Document:
    return Document("1", text, tuple(Mention(text.rindex(s), text.rindex(s) + len(s), s) for s in surfaces))


def test_scores_are_probabilities_and_confidence_is_calibrated(linker: Linker) -> None:
    doc = document("feverr, hart attack, qqq", "feverr", "hart attack", "qqq")
    (linked,) = link_with(linker, [doc])
    fever, heart, nothing = linked.links
    assert (fever.concept_id, heart.concept_id) == ("mesh:D005334", "mesh:D009203")
    assert (fever.stage, round(fever.candidates[0].score, 3), fever.candidates[0].name) == ("rerank", 0.731, "Fever")
    assert fever.confidence == pytest.approx(0.2 + 0.6 * fever.candidates[0].score)
    assert (nothing.nil_reason, nothing.stage, nothing.confidence) == ("no-candidate", None, None)


def test_respects_filter_and_top_k(linker: Linker) -> None:
    (linked,) = link_with(linker, [document("MI", "MI")], top_k=1)
    assert len(linked.links[0].candidates) == 1
    only = concepts_with_ids(linker.kb, ["D006973"])
    (linked,) = link_with(linker, [document("MI", "MI")], only=only)
    assert [candidate.concept_id for candidate in linked.links[0].candidates] == ["mesh:D006973"]


def test_keeps_document_order_and_empty_documents(linker: Linker) -> None:
    docs = [Document(str(i), "fever", (Mention(0, 5, "fever"),) if i % 3 else ()) for i in range(150)]
    linked = list(link_with(linker, iter(docs)))
    assert [each.document.id for each in linked] == [doc.id for doc in docs]
    assert [len(each.links) for each in linked] == [len(doc.mentions) for doc in docs]


def test_answers_equal_those_of_each_mention_by_itself(linker: Linker) -> None:
    assert isinstance(linker, RerankLinker)
    texts = [
        "Heart attack (HA), fever. HA, fevers, MI (heart attack)",
        "fever, mi, high blood pressure",
        "qqq",
        "fevers: fever",
    ]
    surfaces = ("Heart attack", "HA", "fevers", "fever", "MI", "mi", "high blood pressure", "qqq")
    docs = [document(text, *(each for each in surfaces if each in text)) for text in [*texts, *texts, ""]]
    queries = [query for doc in docs for query in queries_of(doc)]
    for only in (None, concepts_with_ids(linker.kb, ["D006973"])):
        wanted = linker.rank_each(queries, 3, only)
        rank = linker.ranking(3, only)
        for _ in range(2):  # the second time, it has kept its answers
            assert [Ranked(each.candidates, each.tied) for each in rank(queries)] == wanted
    assert linker.rank_each([]) == linker.rank([]) == []


def test_works_in_a_pipeline(tmp_path: Path, model: Path, tiny_kb: Path) -> None:
    build_pipeline(tiny_kb, tmp_path / "pipeline", linker=linker_config("rerank", model=str(model)))
    link = load(tmp_path / "pipeline").link("No fever.").links[0]
    assert (link.concept_id, link.stage) == ("mesh:D005334", "rerank")
    assert link.confidence is not None


def test_rejects_missing_model_and_wrong_components(tmp_path: Path, model: Path, tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    with pytest.raises(ConfigError, match="model-missing"):
        open_linker("rerank", kb)
    encoder = str(save_encoder(tmp_path / "tiny-bert"))
    with pytest.raises(ConfigError, match="rerank-parts"):
        open_linker(linker_config("rerank", model=str(model), encoder=encoder), kb)
    dense = write_folder(tmp_path / "dense", origin=ORIGIN.model_copy(update={"parts": ("tfidf", "dense")}))
    with pytest.raises(ConfigError, match="rerank-parts"):
        open_linker(linker_config("rerank", model=str(dense)), kb)
    both = open_linker(linker_config("rerank", model=str(dense), encoder=encoder, index="flat"), kb)
    assert [part["linker"] for part in both.config["parts"]] == ["tfidf", "dense"]
    with pytest.raises(ConfigError, match="config-invalid"):
        RerankLinkerConfig.from_options({"index": "flat"})
