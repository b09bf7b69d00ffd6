"""A reranker from annotated documents to links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.datasets import PreparedDataset
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers import linker_config, open_linker
from onym.rerank.trees import open_reranker
from onym.train.run import train
from onym.types import Document, Mention
from tests.train.rerank.made import config


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory, corpus: Path, kb_folder: Path) -> Path:
    return train(config(corpus, kb_folder), tmp_path_factory.mktemp("rerank") / "reranker")


def test_it_links_with_probabilities(reranker: Path, corpus: Path, kb_folder: Path) -> None:
    linker = open_linker(linker_config("rerank", model=str(reranker)), KnowledgeBase.open(kb_folder))
    (doc,) = PreparedDataset.open(corpus).documents("test")
    ((link,),) = [linked.links for linked in linker.link([doc])]
    assert (link.concept_id, link.stage) == ("mesh:D009203", "rerank")
    assert link.confidence is not None
    assert all(0 <= candidate.score <= 1 for candidate in link.candidates)
    assert linker.config["linker"] == "rerank"


def test_the_memory_answers_what_no_name_does(reranker: Path, kb_folder: Path) -> None:
    linker = open_linker(linker_config("rerank", model=str(reranker)), KnowledgeBase.open(kb_folder))
    doc = Document("1", "a cardiac attack", (Mention(2, 16, "cardiac attack", type="Disease"),))
    ((link,),) = [linked.links for linked in linker.link([doc])]
    assert link.concept_id == "mesh:D009203"


def test_the_folder_says_what_it_was_made_of(reranker: Path, corpus: Path, kb_folder: Path) -> None:
    record = json.loads((reranker / "training.json").read_text())
    (of_corpus,) = record["corpora"]
    assert (of_corpus["name"], of_corpus["documents"]) == ("ncbi-disease", 6)
    assert of_corpus["licence"] == "public domain, a work of NLM"
    assert record["metrics"]["dev"]["ncbi-disease"]["in_kb"] == 4
    assert record["kb"]["digest"] == KnowledgeBase.open(kb_folder).digest
    card = (reranker / "README.md").read_text()
    assert "| ncbi-disease | 6 | 0 | public domain, a work of NLM |" in card
    assert open_reranker(reranker).calibration is not None


def test_the_same_data_give_the_same_trees(tmp_path: Path, reranker: Path, corpus: Path, kb_folder: Path) -> None:
    again = train(config(corpus, kb_folder), tmp_path / "again")
    assert open_reranker(again).trees.columns["value"].tolist() == open_reranker(reranker).trees.columns["value"].tolist()


def test_without_a_group_of_features_and_without_calibration(tmp_path: Path, corpus: Path, kb_folder: Path) -> None:
    made = train(config(corpus, kb_folder, trees={"without": ["memory"]}, dev={"calibrate": False}), tmp_path / "made")
    found = open_reranker(made)
    assert not any("recalled" in name for name in found.origin.features if "elsewhere" not in name)
    assert found.calibration is None
    assert found.confidence(0.25) == 0.25
    with pytest.raises(ConfigError, match="no group of features named 'colour'"):
        train(config(corpus, kb_folder, trees={"without": ["colour"]}), tmp_path / "other")


def test_what_may_not_be_passed_on_is_refused(tmp_path: Path, corpus: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="dataset-not-shippable"):
        train(config(corpus, kb_folder, data={"datasets": ["hpo-gsc"]}), tmp_path / "made")
    assert not (tmp_path / "made").exists()
