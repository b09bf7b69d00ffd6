"""Tests of result rows of detectors: detection, scoring, rescoring, and the results page."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.results import detector_results, span_rows
from benchmarks.results.page import PAGE
from benchmarks.results.span_rows import add_row, documents_of, judge_spans, main, rows_in, spans_in

from onym.kb import KnowledgeBase
from onym.types import Document, Mention
from tests.support.models import save_collective

pytest.importorskip("torch")


@pytest.fixture
def folder(tmp_path: Path, small_data: Path, runs: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert small_data.is_dir()
    monkeypatch.setattr(span_rows, "open_kb_joined", lambda: KnowledgeBase.open(tiny_kb))
    monkeypatch.setattr(span_rows, "select_concepts", lambda kb, *_: None)
    save_collective(runs / "tiny-spans", threshold=0.3)
    (tmp_path / "page.md").write_text("<!-- detectors: begin -->\n<!-- detectors: end -->\n", "utf-8")
    return tmp_path / "store"


def run(folder: Path, **more: Any) -> Any:
    options = argparse.Namespace(**({"quick": False, "write": False} | more))
    return detector_results.run(options, folder, folder.parent / "page.md")


def test_scores_rows_from_stored_spans(folder: Path) -> None:
    for split in ("dev", "test"):
        assert main(["--dataset", "ncbi-disease", "--split", split], folder) == 0
    figures = run(folder, write=True)
    assert set(figures["spans"]) == {"ncbi-disease/dictionary-on-dev", "ncbi-disease/dictionary"}
    assert figures["unseen"] == {}, "no detector was trained without the corpus"
    row = rows_in(folder)[0]
    add_row(replace(row, f1={**row.f1, "all": 99.9}), {}, spans_in(row, folder), folder)
    with pytest.raises(SystemExit, match=r"F1 of all is .*, not 99.9"):
        run(folder)


def test_a_trained_detector(folder: Path) -> None:
    main(["--dataset", "ncbi-disease", "--detector", "tiny-spans"], folder)
    (row,) = rows_in(folder)
    assert row.weights
    assert json.loads((folder / "rows.json").read_text())[0]["detector"] == "tiny-spans"


def test_f1_by_type_by_hand() -> None:
    gold = Document("1", "flu and TP53", (Mention(0, 3, "flu", (), "Disease"), Mention(8, 12, "TP53", (), "Gene")))
    found: span_rows.Spans = {"1": [(0, 3, "Disease", 1.0), (4, 7, "Disease", 1.0), (8, 12, "Disease", 1.0)]}
    assert judge_spans([gold], found) == {"all": 40.0, "Disease": 50.0, "Gene": 0.0}


def test_merges_disease_types(folder: Path) -> None:
    assert folder
    assert {mention.type for doc in documents_of("ncbi-disease", "test") for mention in doc.mentions} == {"Disease"}


def test_docs_page_shows_the_stored_rows() -> None:
    assert detector_results.page_with(rows_in(), PAGE.read_text("utf-8")) == PAGE.read_text("utf-8")
