"""Tests of training rerankers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.datasets import PreparedDataset
from onym.errors import ConfigError, InputError
from onym.evaluate.cases import ConceptResolver
from onym.kb import KnowledgeBase
from onym.methods import linker_config, open_linker
from onym.methods.reranker.features import NAMES
from onym.methods.reranker.model import open_reranker
from onym.train.configs import RerankTrainingConfig, TreesConfig
from onym.train.reranker.trainer import (
    Outcomes,
    Pairs,
    RerankContext,
    card,
    figures_of,
    fit_calibration,
    fit_trees,
    outcomes_of,
    pairs_of,
    right_concepts,
)
from onym.train.run import train
from onym.types import Document, Mention
from tests.support.linking import link_with
from tests.support.models import stump

HEART, FEVER = "mesh:D009203", "mesh:D005334"
COLUMN = ("tfidf",)
STUMP = stump()
RECORD = {
    "kb": {"digest": "ab", "concepts": 3, "names": 9},
    "parts": ["tfidf"],
    "trees": 8,
    "nodes": 20,
    "features": ["tfidf", "kind"],
    "corpora": [{"name": "mine", "documents": 6, "left_out": {"same id": 2, "same text": 1}, "licence": "CC0"}],
    "metrics": {"dev": {"mine": {"strict_r1": 81.25, "unseen": 50.0, "in_kb": 16}}},
}


def config(corpus: Path, kb: Path, **tables: Any) -> RerankTrainingConfig:
    """Return the configuration of a small reranker."""
    trees = {"iterations": 8, "min_samples": 1, **tables.pop("trees", {})}
    data = {"datasets": [str(corpus)], "kb": str(kb), **tables.pop("data", {})}
    return RerankTrainingConfig.of({"stage": "rerank", "data": data, "trees": trees, **tables})


def test_leaves_out_mentions_of_other_types(corpus: Path, kb_folder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder, data={"types": ["Chemical"]}))
    assert [len(doc.mentions) for doc in context.corpora[0].documents] == [0] * 6
    assert not context.counts


def test_no_dense_features_without_encoder(corpus: Path, kb_folder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder))
    assert list(context.parts.linkers) == ["tfidf"]
    assert not any(name.startswith("dense") for name in context.columns)


def test_dense_features_with_encoder(corpus: Path, kb_folder: Path, encoder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder, pool={"encoder": str(encoder), "index": "flat"}))
    assert list(context.parts.linkers) == ["tfidf", "dense"]
    assert "dense_margin" in context.columns
    assert len(context.parts.encoder) == 16


def test_training_document_does_not_see_its_own_memory(corpus: Path, kb_folder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder))
    (found,) = context.corpora
    trained = pairs_of(context, found.documents, is_training=True)
    plain = pairs_of(context, found.documents, is_training=False)
    column = NAMES.index("recalled")
    # No surface is recalled: a document does not see its own mentions, and each surface is in one document only.
    assert trained.matrix[:, column].max() == 0
    assert plain.matrix[:, column].max() == 1
    assert (
        trained.matrix[trained.is_right, NAMES.index("concept_count")].max()
        < plain.matrix[:, NAMES.index("concept_count")].max()
    )


def test_each_mention_has_at_most_one_right_candidate(corpus: Path, kb_folder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder))
    (found,) = context.corpora
    pairs = pairs_of(context, found.documents, is_training=True)
    assert len(pairs.is_in_kb) == len(pairs.types) == 12
    assert np.bincount(pairs.owners, pairs.is_right).max() == 1
    assert set(pairs.types.tolist()) == {"Disease"}


def test_composite_has_no_right_concept(tiny_kb: Path) -> None:
    resolver = ConceptResolver(KnowledgeBase.open(tiny_kb))
    assert right_concepts(Mention(0, 2, "MI", (HEART,)), resolver) == {HEART}
    assert right_concepts(Mention(0, 2, "MI", (HEART, "omim:608446")), resolver) == {HEART}
    assert right_concepts(Mention(0, 2, "MI", (HEART, FEVER)), resolver) == frozenset()
    assert right_concepts(Mention(0, 2, "MI", ("mesh:D999999",)), resolver) == frozenset()


def pairs_with(right: list[bool]) -> Pairs:
    size = len(right)
    matrix = np.full((size, len(NAMES)), np.nan)
    matrix[:, 0] = np.linspace(0, 1, size)
    rows = np.arange(size)
    return Pairs(matrix, np.array(right), rows, rows, np.ones(size, bool), np.ones(size, bool), np.array([""] * size, object))


def test_ignores_all_nan_columns() -> None:
    trees = fit_trees(pairs_with([False] * 30 + [True] * 30), ("tfidf", "dense"), TreesConfig(iterations=3, min_samples=5))
    trees.require_sound(features=2)
    low, high = trees.probabilities(np.array([[0.1, np.nan], [0.9, np.nan]]))
    assert low < 0.5 < high
    assert set(trees.feature.tolist()) == {0}


@pytest.mark.parametrize("right", [[True] * 5, [False] * 5])
def test_rejects_pairs_that_are_all_right_or_all_wrong(right: list[bool]) -> None:
    with pytest.raises(InputError) as error:
        fit_trees(pairs_with(right), ("tfidf",), TreesConfig())
    assert error.value.code == "training-empty"


def three_mentions() -> Pairs:
    """Return three mentions: one right, one wrong, and one without candidates."""
    matrix = np.zeros((3, len(NAMES)))
    matrix[:, 0] = (0.9, 0.1, 0.2)
    return Pairs(
        matrix=matrix,
        is_right=np.array([True, False, False]),
        owners=np.array([0, 0, 1]),
        concepts=np.array([5, 4, 3]),
        is_in_kb=np.array([True, True, True]),
        is_seen=np.array([True, False, False]),
        types=np.array(["A", "A", "B"], dtype=object),
    )


def test_answer_is_the_best_candidate() -> None:
    found = outcomes_of(STUMP, COLUMN, three_mentions())
    assert found.is_right.tolist() == [True, False, False]
    assert found.probabilities.round(3).tolist() == [0.731, 0.269, 0.0]
    figures = figures_of(three_mentions(), found)
    assert figures["strict_r1"] == 33.3
    assert (figures["seen"], figures["unseen"], figures["type A"], figures["type B"]) == (100.0, 0.0, 50.0, 0.0)
    assert (figures["mentions"], figures["in_kb"]) == (3, 3)


def test_recall_excludes_mentions_not_in_kb() -> None:
    some = three_mentions()._replace(is_in_kb=np.array([True, False, False]))
    assert figures_of(some, outcomes_of(STUMP, COLUMN, some))["strict_r1"] == 100.0


def test_calibrates_on_all_corpora() -> None:
    one = Outcomes(np.array([0.9, 0.8]), np.array([True, False]))
    other = Outcomes(np.array([0.1]), np.array([False]))
    fitted, quality = fit_calibration({"one": one, "other": other})
    assert fitted.probabilities(np.array([0.0, 0.9])).tolist() == [0.0, 1.0]
    assert quality == {"ece_on_dev": 0.0, "auroc_on_dev": 1.0}


def test_card_has_corpora_licences_and_scores() -> None:
    text = card(RECORD)
    assert "| mine | 6 | 3 | CC0 |" in text
    assert "| mine | 81.2 | - | 50.0 | 16 |" in text
    assert "8, with 20 nodes, over 2 features" in text


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory, corpus: Path, kb_folder: Path) -> Path:
    return train(config(corpus, kb_folder), tmp_path_factory.mktemp("rerank") / "reranker")


def test_trained_reranker_links_with_probabilities(reranker: Path, corpus: Path, kb_folder: Path) -> None:
    linker = open_linker(linker_config("rerank", model=str(reranker)), KnowledgeBase.open(kb_folder))
    (doc,) = PreparedDataset.open(corpus).documents("test")
    ((link,),) = [linked.links for linked in link_with(linker, [doc])]
    assert (link.concept_id, link.stage) == ("mesh:D009203", "rerank")
    assert link.confidence is not None
    assert all(0 <= candidate.score <= 1 for candidate in link.candidates)
    assert linker.config["linker"] == "rerank"


def test_memory_links_surfaces_that_are_not_names(reranker: Path, kb_folder: Path) -> None:
    linker = open_linker(linker_config("rerank", model=str(reranker)), KnowledgeBase.open(kb_folder))
    doc = Document("1", "a cardiac attack", (Mention(2, 16, "cardiac attack", type="Disease"),))
    ((link,),) = [linked.links for linked in link_with(linker, [doc])]
    assert link.concept_id == "mesh:D009203"


def test_record_has_training_inputs(reranker: Path, corpus: Path, kb_folder: Path) -> None:
    record = json.loads((reranker / "training.json").read_text())
    (of_corpus,) = record["corpora"]
    assert (of_corpus["name"], of_corpus["documents"]) == ("ncbi-disease", 6)
    assert of_corpus["licence"] == "public domain, a work of NLM"
    assert record["metrics"]["dev"]["ncbi-disease"]["in_kb"] == 4
    assert record["kb"]["digest"] == KnowledgeBase.open(kb_folder).digest
    card = (reranker / "README.md").read_text()
    assert "| ncbi-disease | 6 | 0 | public domain, a work of NLM |" in card
    assert open_reranker(reranker).calibration is not None


def test_training_is_reproducible(tmp_path: Path, reranker: Path, corpus: Path, kb_folder: Path) -> None:
    again = train(config(corpus, kb_folder), tmp_path / "again")
    assert open_reranker(again).trees.columns["value"].tolist() == open_reranker(reranker).trees.columns["value"].tolist()


def test_trains_without_feature_group_and_calibration(tmp_path: Path, corpus: Path, kb_folder: Path) -> None:
    made = train(config(corpus, kb_folder, trees={"without": ["memory"]}, dev={"calibrate": False}), tmp_path / "made")
    found = open_reranker(made)
    assert not any("recalled" in name for name in found.origin.features if "elsewhere" not in name)
    assert found.calibration is None
    assert found.confidence(0.25) == 0.25
    with pytest.raises(ConfigError, match="unknown feature group 'colour'"):
        train(config(corpus, kb_folder, trees={"without": ["colour"]}), tmp_path / "other")


def test_rejects_datasets_that_may_not_be_redistributed(tmp_path: Path, corpus: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="dataset-not-shippable"):
        train(config(corpus, kb_folder, data={"datasets": ["hpo-gsc"]}), tmp_path / "made")
    assert not (tmp_path / "made").exists()
