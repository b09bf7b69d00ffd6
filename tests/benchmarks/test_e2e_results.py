"""Tests of result rows of end-to-end systems: prediction, scoring, rerun, and the results page."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.results import check as results_check
from benchmarks.results import e2e_confidence, e2e_tasks, e2e_threshold
from benchmarks.results.e2e_predict import main
from benchmarks.results.e2e_results import ANNOTATED_FIGURES, FIGURES, best, page_with, run
from benchmarks.results.e2e_tasks import EndToEndTask, end_to_end_task, judge_annotated, judge_found
from benchmarks.results.page import PAGE
from benchmarks.results.store import FOLDER, Store

from onym.kb import KnowledgeBase
from onym.outputs.predictions import Prediction, Predictions
from onym.types import Document, Mention
from tests.datasets.made import write, write_graded
from tests.support.models import save_collective

pytest.importorskip("faiss")
KEY = "ncbi_disease/dictionary+exact"


@pytest.fixture
def store(tmp_path: Path, small_data: Path, runs: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Return an empty store, with a tiny knowledge base, a trained detector and a temporary results page."""
    assert small_data.is_dir()
    monkeypatch.setattr(e2e_tasks, "open_kb", lambda: KnowledgeBase.open(tiny_kb))
    monkeypatch.setattr(e2e_tasks, "TRAINED_ON", ())
    save_collective(runs / "tiny-spans", threshold=0.3)
    write(runs / "tiny-spans" / "training.json", json.dumps({"first_start": "tiny-bert", "hours_in_all": 0.5}))
    path = tmp_path / "results.md"
    path.write_text(page_with([], PAGE.read_text("utf-8")), "utf-8")
    monkeypatch.setattr(results_check, "PAGE", path)
    return Store(tmp_path / "store")


def predict(store: Store, *more: str) -> None:
    assert main(["--dataset", "ncbi_disease", *more], store) == 0


def options(**more: Any) -> argparse.Namespace:
    return argparse.Namespace(**({"quick": False, "write": False, "rerun": ""} | more))


def test_lists_rows_of_another_kb(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    predict(store)
    run(options(write=True), store)
    assert "made with" not in capsys.readouterr().err
    row = store.row(KEY)
    made = store.predictions(row)
    store.add(row, Predictions.of(made, {**made.source, "kb": {**made.source["kb"], "digest": "0123"}}))
    run(options(), store)
    assert f"{KEY}: made with the knowledge base 0123" in capsys.readouterr().err


def test_scores_stored_predictions_and_reruns(store: Store) -> None:
    predict(store)
    predict(store, "--split", "dev")
    figures: Any = run(options(write=True), store)
    assert [row["row"] for row in figures["runs"]] == [KEY, f"{KEY}-on-dev"]
    assert figures["best"]["ncbi_disease"]["row"] == KEY
    assert set(FIGURES) <= set(figures["best"]["ncbi_disease"])
    run(options(rerun=KEY), store)
    with pytest.raises(SystemExit, match="no such row"):
        run(options(rerun="nothing"), store)
    with pytest.raises(SystemExit, match="--force"):
        predict(store)


def test_second_figure_excludes_training_documents(tiny_kb: Path) -> None:
    fever = Mention(0, 5, "fever", ("mesh:D005334",))
    docs = tuple(Document(name, "fever", (fever,)) for name in ("1", "2"))
    found = Predictions.of([Prediction("1", 0, 5, ((("mesh:D005334",), 1.0, 0),))], {})
    task = e2e_tasks.EndToEndTask(docs, KnowledgeBase.open(tiny_kb), None, {}, frozenset({"1"}))
    figures = judge_found(task, found)
    assert (figures["strict_f1"], figures["reduced_f1"], figures["shared"]) == (66.7, 0.0, 1)
    assert "reduced_f1" not in judge_found(task.drop_documents(), found)


def test_detects_a_changed_figure(store: Store) -> None:
    predict(store)
    (row,) = store.rows()
    run(options(write=True), store)
    store.write([replace(row, figures=row.figures | {"strict_f1": 99.9})])
    with pytest.raises(SystemExit, match=r"strict_f1 is .*, not 99.9"):
        run(options(), store)
    with pytest.raises(SystemExit, match="the page does not show"):
        run(options(quick=True), store)


def test_system_with_a_trained_model(store: Store, runs: Path) -> None:
    predict(store, "--detector", "tiny-spans", "--linker", "collective", "--model", "tiny-spans")
    (row,) = store.rows()
    assert (row.search, row.ranking, row.model, row.hours) == ("spans", "collective", "tiny-spans (from tiny-bert)", 0.5)
    assert row.parameters > 0
    run(options(write=True, rerun=row.row), store)
    (runs / "tiny-spans" / "collective.json").write_text(
        (runs / "tiny-spans" / "collective.json").read_text().replace("0.3", "0.99")
    )
    with pytest.raises(SystemExit, match="found by one alone"):
        run(options(rerun=row.row), store)


def test_selects_threshold_on_dev(store: Store) -> None:
    system = ("--linker", "tfidf")
    predict(store, *system)
    with pytest.raises(SystemExit, match="no row ncbi_disease/dictionary[+]tfidf-on-dev"):
        e2e_threshold.main(["ncbi_disease/dictionary+tfidf"], store)
    predict(store, *system, "--split", "dev")
    assert e2e_threshold.main(["ncbi_disease/dictionary+tfidf"], store) == 0
    rows = {row.row: row for row in store.rows()}
    dev, test = rows["ncbi_disease/dictionary+tfidf+threshold-on-dev"], rows["ncbi_disease/dictionary+tfidf+threshold"]
    assert dev.figures["strict_f1"] >= rows["ncbi_disease/dictionary+tfidf-on-dev"].figures["strict_f1"]
    assert json.loads(dev.model_folder)["threshold"] == json.loads(test.model_folder)["threshold"]
    run(options(write=True, rerun=test.row), store)


def test_fits_confidences_on_dev(store: Store, small_data: Path) -> None:
    write_graded(small_data)
    key = "ncbi_disease/dictionary+tfidf"
    with pytest.raises(SystemExit, match="no row ncbi_disease/dictionary[+]tfidf-on-dev, ncbi_disease/dictionary[+]tfidf"):
        e2e_confidence.main([key], store)
    for split in ("test", "dev"):
        predict(store, "--linker", "tfidf", "--split", split)
    assert e2e_confidence.main([key], store) == 0
    rows = {row.row: row for row in store.rows()}
    dev, test = rows[f"{key}+confidence-on-dev"], rows[f"{key}+confidence"]
    assert json.loads(dev.model_folder)["confidence"] == json.loads(test.model_folder)["confidence"]
    assert dev.figures["strict_f1"] >= rows[f"{key}-on-dev"].figures["strict_f1"]
    assert {0 <= one.answers[0][1] <= 1 for one in store.predictions(dev) if one.answers} == {True}
    with pytest.raises(SystemExit, match="without [+]confidence"):
        run(options(write=True, rerun=test.row), store)


def test_gold_mentions_have_separate_figures_and_table(store: Store) -> None:
    predict(store)
    predict(store, "--split", "dev")
    predict(store, "--detector", "gold", "--split", "dev")
    predict(store, "--detector", "gold")
    figures: Any = run(options(write=True, rerun="ncbi_disease/gold+exact"), store)
    (annotated,) = [row for row in figures["runs"] if row["row"] == "ncbi_disease/gold+exact"]
    assert set(ANNOTATED_FIGURES) <= set(annotated)
    assert figures["best"]["ncbi_disease"]["row"] == KEY
    assert f"| exact |  | train | {annotated['strict_r1']:.1f} |" in (store.folder.parent / "results.md").read_text("utf-8")


def test_figures_of_annotated_mentions_by_hand(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    fever, attack = Mention(0, 5, "fever", ("mesh:D005334",)), Mention(6, 12, "attack", ("mesh:D009203",))
    task = EndToEndTask((Document("1", "fever attack", (fever, attack)),), kb, None, {})
    both = ((("mesh:D005334",), 1.0, 0), (("mesh:D009203",), 0.5, 0))
    figures = judge_annotated(task, Predictions.of([Prediction("1", 0, 5, both), Prediction("1", 6, 12, both)], {}))
    assert [figures[name] for name in ANNOTATED_FIGURES] == [50.0, 50.0, 75.0]
    assert (figures["gold"], figures["in_kb"]) == (2, 2)


def test_figures_by_hand(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    text = "high fever and heart attack"
    gold = Document("1", text, (Mention(5, 10, "fever", ("mesh:D005334",)), Mention(15, 27, "heart attack", ("mesh:D009203",))))
    task = EndToEndTask((gold, Document("2", "none")), kb, None, {})
    found = [
        Prediction("1", 0, 10, ((("mesh:D005334",), 1.0, 0),)),
        Prediction("1", 15, 27, ((("mesh:D009203",), 1.0, 0),)),
        Prediction("1", 11, 14, ()),
        Prediction("2", 0, 4, ((("mesh:D005334",), 1.0, 0),)),
    ]
    figures = judge_found(task, Predictions.of(found, {}))
    assert [figures[f"strict_{part}"] for part in ("p", "r", "f1")] == [33.3, 50.0, 40.0]
    assert [figures[f"partial_{part}"] for part in ("p", "r", "f1")] == [66.7, 100.0, 80.0]
    assert (figures["documents"], figures["gold"]) == (2, 2)
    assert figures["low"] <= 40.0 <= figures["high"]


def test_ignores_mentions_of_other_types(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store
    task = end_to_end_task("ncbi_disease", "test")
    kind = replace(e2e_tasks.KINDS["ncbi_disease"], types=("Nothing",))
    monkeypatch.setitem(e2e_tasks.KINDS, "ncbi_disease", kind)
    none = end_to_end_task("ncbi_disease", "test")
    assert sum(len(doc.mentions) for doc in task.documents) > 0
    assert sum(len(doc.mentions) for doc in none.documents) == 0
    assert task.only is not None


def test_docs_page_shows_the_stored_rows() -> None:
    rows = Store(FOLDER / "e2e").rows()
    assert rows
    assert page_with(rows, PAGE.read_text("utf-8")) == PAGE.read_text("utf-8")
    assert set(best(rows)) == {"bc5cdr", "ncbi_disease", "biored", "nlm_chem", "hpo_gsc"}
