"""Tests of result rows of the reranker: storing, rescoring, and restricting them to a mention type."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.results import rerank_predict, rerank_results, rerank_rows

from onym.datasets import PreparedDataset, prepare
from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.predictions import read_predictions
from tests.train.tiny import CORPUS, pubtator


class _Named(ExactLinker):
    """An exact linker that reports the name of a reranker."""

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "rerank", "reranker": "ab12"}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PreparedDataset:
    (tmp_path / "ncbi_disease").mkdir()
    for split, word in (("train", "train"), ("dev", "develop"), ("test", "test")):
        (tmp_path / "ncbi_disease" / f"NCBI{word}set_corpus.txt").write_text(pubtator(split, CORPUS[split]))
    prepared = prepare("ncbi-disease", tmp_path, tmp_path / "prepared")
    monkeypatch.setattr(rerank_rows, "open_dataset", lambda _name, _data: prepared)
    monkeypatch.setattr(rerank_rows, "data_folder", lambda: tmp_path)
    monkeypatch.setattr(rerank_rows, "training_surfaces", lambda: frozenset({"fever"}))
    monkeypatch.setattr(rerank_rows, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(rerank_predict, "KEPT", tmp_path / "kept")
    return prepared


def test_stores_and_rescores_a_row(corpus: PreparedDataset, tmp_path: Path, tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    (figures,) = rerank_predict.keep(_Named(kb), "ncbi-disease", "dev").values()
    assert (figures["mentions"], figures["in_kb"], figures["unseen"]) == (4, 4, 3)
    assert (figures["strict_r1"], figures["seen_strict_r1"], figures["unseen_strict_r1"]) == (75.0, 100.0, 66.7)
    row = json.loads((tmp_path / "kept" / "rows.json").read_text())["ncbi_disease"]["dev"]
    assert row["figures"] == figures
    assert row["made"]["reranker"] == "ab12"
    predictions = read_predictions(rerank_rows.file_of("ncbi-disease", "dev"))
    assert rerank_rows.judge("ncbi_disease", "dev", kb, predictions) == figures


def test_row_excludes_mentions_of_other_types(corpus: PreparedDataset) -> None:
    some = rerank_rows.open_of_types("ncbi-disease", ("Chemical",))
    assert all(not doc.mentions for doc in some.documents("dev"))
    assert replace(rerank_rows.KINDS["bc5cdr_disease"], of_type="") == rerank_rows.RowKind("bc5cdr")


def test_reports_an_ablation_of_another_kb(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank_results, "ABLATION", tmp_path / "ablation.json")
    kb = KnowledgeBase.open(tiny_kb)
    assert rerank_results.ablation_problems(kb) == []
    (tmp_path / "ablation.json").write_text(json.dumps({"kb": kb.digest, "without": {}}))
    assert rerank_results.ablation_problems(kb) == []
    (tmp_path / "ablation.json").write_text(json.dumps({"kb": "0123", "without": {}}))
    assert rerank_results.ablation_problems(kb) == ["ablation: made with the knowledge base 0123"]
