"""Tests of result rows of the generative linker: prediction, rescoring, rerun, and detection of changes."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.results import check as results_check
from benchmarks.results import generative_results
from benchmarks.results.check import unlike
from benchmarks.results.generative_results import KEYS, PUBLISHED, page_with
from benchmarks.results.page import PAGE, tables
from benchmarks.results.predict import main
from benchmarks.results.store import FOLDER, Row, Store

from onym.outputs.predictions import Predictions

KEY = "askapatient_fold0_labels/finetuned/tiny-bart-beam5-mean"


@pytest.fixture
def store(tmp_path: Path, small_data: Path, runs: Path) -> Store:
    assert small_data.is_dir()
    assert runs.is_dir()
    return Store(tmp_path / "store")


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a temporary results page."""
    path = tmp_path / "results.md"
    path.write_text(page_with([], {}, PAGE.read_text("utf-8")), "utf-8")
    monkeypatch.setattr(results_check, "PAGE", path)
    return path


def predict(store: Store, *more: str, stage: str = "finetuned", model: str = "tiny", search: str = "beam5") -> None:
    described = ["--dataset", "askapatient_fold0_labels", "--stage", stage, "--model", model]
    main(["generative", *described, "--search", search, "--ranking", "mean", *more], store)


def results(store: Store, **more: Any) -> dict[str, Any]:
    return generative_results.run(argparse.Namespace(**({"quick": False, "write": False, "rerun": ""} | more)), store)


def change_row(store: Store, **more: Any) -> Row:
    row = replace(store.row(KEY), **more)
    store.write([row])
    return row


def test_page_without_rows(store: Store) -> None:
    assert results(store) == {"runs": [], "best": {}}
    assert "There are no rows yet." in tables([], KEYS, ())


def test_predicts_stores_and_reruns_a_row(store: Store, page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    predict(store)
    predict(store, "--split", "dev")
    assert json.loads(capsys.readouterr().out.splitlines()[0])["row"] == KEY
    with pytest.raises(SystemExit, match="--write"):
        results(store)
    figures = results(store, write=True)
    assert results(store) == results(store, quick=True) == figures
    assert figures["best"] == {"askapatient_fold0_labels": KEY}
    assert [(run["split"], run["mentions"], run["hours"]) for run in figures["runs"]] == [("test", 1, 0.5), ("dev", 1, 0.5)]
    assert "| finetuned | tiny-bart | beam5 | mean | train |" in page.read_text("utf-8")
    assert store.row(KEY).weights == store.predictions(store.row(KEY)).source["linker"]["weights"]


def test_stores_no_text_and_no_names(store: Store) -> None:
    predict(store)
    source = store.predictions(store.row(KEY)).source
    kept = json.dumps([source, (store.folder / "rows.json").read_text()]).lower()
    assert not any(word in kept for word in ("headache", "fever", "caf"))


def test_compares_a_stage_with_the_previous_one(store: Store) -> None:
    predict(store, stage="start")
    predict(store, model="other")
    after = store.row(KEY)
    assert (after.before, after.p) == ("askapatient_fold0_labels/start/tiny-bart-beam5-mean", 1.0)
    results(store, write=True)
    assert store.row(KEY) == after


def test_finds_a_previous_stage_that_was_added_later(store: Store) -> None:
    predict(store)
    predict(store, stage="start")
    with pytest.raises(SystemExit, match=f"{KEY}: p against .*/start/tiny-bart-beam5-mean is 1.0, not None against no row"):
        results(store)
    results(store, write=True)
    assert store.row(KEY).p == 1.0


@pytest.mark.parametrize("quick", [False, True])
def test_detects_a_figure_that_differs_from_predictions(store: Store, *, quick: bool) -> None:
    predict(store)
    said = store.row(KEY).figures
    change_row(store, figures=said | {"any_id_r5": 12.3})
    with pytest.raises(SystemExit, match=f"{KEY}: any_id_r5 is {said['any_id_r5']}, not 12.3"):
        results(store, quick=quick)
    with pytest.raises(SystemExit, match="any_id_r5"):
        results(store, write=True)
    assert store.row(KEY).figures["any_id_r5"] == 12.3  # `--write` writes the page but does not update figures


def test_detects_a_slice_that_differs_from_predictions(store: Store) -> None:
    predict(store)
    said = store.row(KEY).slices
    assert said["overall"] == [store.row(KEY).figures["in_kb"], store.row(KEY).figures["any_id_r1"]]
    change_row(store, slices=said | {"overall": [7, 12.3]})
    with pytest.raises(SystemExit, match=f"{KEY}: slice overall is .*, not .7, 12.3."):
        results(store)


def test_stores_and_shows_learning_curves(store: Store, runs: Path, page: Path) -> None:
    log = [
        {"step": 0, "eval_dev_r1": 1.5, "eval_dev_r5": 2.5},
        {"step": 5, "loss": 0.1},
        {"step": 10, "eval_dev_r1": 50.0, "eval_dev_r5": 60.0},
    ]
    (runs / "tiny" / "log.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in log))
    predict(store)
    assert store.curves() == {"tiny": [[0, 1.5, 2.5], [10, 50.0, 60.0]]}
    results(store, write=True)
    assert "| `tiny` | 0: 1.5, 10: 50.0 |" in page.read_text("utf-8")


def test_ablations_are_shown_separately_and_never_selected(store: Store, page: Path) -> None:
    for split in ("dev", "test"):
        predict(store, "--split", split, stage="ablation-prompt-off")
    assert results(store, write=True)["best"] == {}
    assert "| no prompt | all | beam5 | mean |" in page.read_text("utf-8")


def test_detects_missing_predictions(store: Store) -> None:
    predict(store)
    (store.folder / store.row(KEY).file).unlink()
    with pytest.raises(SystemExit, match=KEY):
        results(store)


def test_detects_a_changed_page(store: Store, page: Path) -> None:
    predict(store)
    results(store, write=True)
    page.write_text(page.read_text("utf-8").replace("| 0.5 |", "| 0.4 |"), "utf-8")
    with pytest.raises(SystemExit, match="the page does not show"):
        results(store, quick=True)


def test_quick_does_not_rescore_rows_on_the_open_kb(store: Store) -> None:
    predict(store)
    change_row(store, dataset="bc5cdr", figures=store.row(KEY).figures | {"mapped": 1, "mapped_any_id_r1": 7.0})
    results(store, quick=True, write=True)
    assert results(store, quick=True)["runs"][0]["dataset"] == "bc5cdr"
    assert "(7.0 mapped)" in tables(store.rows(), KEYS, ())


@pytest.mark.parametrize("search", ["beam5", "exact"])
def test_rerun_gives_the_same_answers(store: Store, search: str) -> None:
    predict(store, search=search)
    results(store, write=True)
    assert results(store, rerun=store.rows()[0].row)["runs"]


def test_rerun_detects_another_model(store: Store) -> None:
    predict(store)
    results(store, write=True)
    row = change_row(store, model_folder="other")
    with pytest.raises(SystemExit, match=f"the weights are .*, not {row.weights}"):
        results(store, rerun=KEY)
    change_row(store, model_folder="nowhere")
    with pytest.raises(SystemExit, match="no model found"):
        results(store, rerun=KEY)
    with pytest.raises(SystemExit, match="no such row"):
        results(store, rerun="another")


def test_rerun_detects_different_answers(store: Store) -> None:
    predict(store, model="other")
    other = store.row(KEY)
    predict(store, "--force")
    store.write([replace(other, weights=store.row(KEY).weights, model_folder="tiny")])
    store.add(store.row(KEY), replace_scores(store, other))
    results(store, write=True)
    with pytest.raises(SystemExit, match="a score differs|an answer is missing"):
        results(store, rerun=KEY)


def replace_scores(store: Store, row: Row) -> Any:
    """Return the predictions of a row with all scores lowered by 1."""
    kept = store.predictions(row)
    lower = (replace(one, answers=tuple((ids, score - 1, name) for ids, score, name in one.answers)) for one in kept)
    return Predictions.of(lower, kept.source)


@pytest.mark.parametrize(
    ("again", "why"),
    [
        ([("a", -1.01), ("b", -5.05)], ""),
        ([("b", -5.0), ("a", -1.0)], ""),
        ([("a", -1.0), ("c", -5.05)], ""),
        ([("a", -1.1), ("b", -5.0)], "a score differs"),
        ([("a", -1.0), ("c", -3.0)], "an answer is missing"),
        ([("c", -1.0), ("b", -5.0)], "an answer is missing"),
        ([], "one has no answer"),
    ],
)
def test_compares_answers_within_tolerance(again: list[tuple[str, float]], why: str) -> None:
    kept = [((name,), score, rank) for rank, (name, score) in enumerate([("a", -1.0), ("b", -5.0)])]
    assert unlike(kept, [((name,), score, rank) for rank, (name, score) in enumerate(again)]) == why


def test_rejects_invalid_options_before_predicting(store: Store, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="cannot be evaluated on dev"):
        predict(store, "--split", "dev", "--trained-on", "train+dev")
    with pytest.raises(SystemExit, match="unheard-of.toml is missing"):
        predict(store, model="unheard-of")
    predict(store)
    with pytest.raises(SystemExit, match="add --force"):
        predict(store)
    with pytest.raises(SystemExit, match="needs a recipe"):
        predict(store, "--force", model=str(tmp_path / "tiny"))
    with pytest.raises(SystemExit, match="--stage learnt is not one of start"):
        predict(store, "--force", stage="learnt")


def test_docs_page_shows_the_stored_rows() -> None:
    text = PAGE.read_text("utf-8")
    kept = Store(FOLDER / "generative")
    assert page_with(kept.rows(), kept.curves(), text) == text
    assert all(system in text for system, *_ in PUBLISHED)


def test_each_stored_row_has_its_files() -> None:
    store = Store(FOLDER / "generative")
    rows = store.rows()
    assert all((store.folder / row.file).is_file() and (FOLDER.parent / row.config).is_file() for row in rows)
    assert {path.name for path in store.folder.glob("*.gz")} == {row.file for row in rows}
