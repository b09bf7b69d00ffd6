"""Tests of result rows of the dense linker: prediction, scoring by two protocols, rerun, and averaging over folds."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.results import check as results_check
from benchmarks.results import dense_results
from benchmarks.results.dense_results import FOLD_KEYS, KEYS, PUBLISHED, folds, page_with
from benchmarks.results.page import PAGE
from benchmarks.results.predict import main, recipe_of
from benchmarks.results.store import FOLDER, Row, Store
from benchmarks.results.tasks import KINDS

from tests.datasets.made import write
from tests.support.models import save_encoder

pytest.importorskip("faiss")
KEY = "ncbi_disease_biosyn/aligned/tiny-bert-flat-own"


@pytest.fixture
def store(tmp_path: Path, small_data: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Return an empty store, with a trained encoder and a temporary results page."""
    assert small_data.is_dir()
    save_encoder(runs / "aligned-tiny")
    write(runs / "aligned-tiny" / "training.json", json.dumps({"first_start": "tiny-bert", "hours_in_all": 0.5}))
    write(tmp_path / recipe_of("dense", "aligned-tiny"), "")
    path = tmp_path / "results.md"
    path.write_text(page_with([], {}, PAGE.read_text("utf-8")), "utf-8")
    monkeypatch.setattr(results_check, "PAGE", path)
    return Store(tmp_path / "store")


def predict(store: Store, dataset: str = "ncbi_disease_biosyn", split: str = "test", search: str = "flat") -> None:
    options = ["--dataset", dataset, "--stage", "aligned", "--model", "aligned-tiny", "--search", search]
    main(["dense", *options, "--ranking", "own", "--split", split], store)


def results(store: Store, **more: Any) -> dict[str, Any]:
    return dense_results.run(argparse.Namespace(**({"quick": False, "write": False, "rerun": ""} | more)), store)


def test_scores_by_biosyn_protocol_and_reruns(store: Store) -> None:
    predict(store)
    predict(store, split="dev")
    figures = results(store, write=True)
    assert results(store, rerun=KEY) == results(store, quick=True) == figures
    best = figures["best"]["ncbi_disease_biosyn"]
    assert best["row"] == KEY
    assert best["r1"] == store.row(KEY).figures["r1"]
    assert "strict_r1" not in best


def test_scores_by_any_id_and_strict_protocol(store: Store) -> None:
    predict(store, "askapatient_fold0")
    predict(store, "askapatient_fold0", "dev")
    best = results(store, write=True)["best"]["askapatient"]
    assert best["folds"] == 1
    assert best.keys() >= {"any_id_r1", "strict_r1"}


def test_each_index_kind_has_its_own_row(store: Store) -> None:
    predict(store)
    predict(store, search="hnsw")
    assert [row.search for row in store.rows()] == ["flat", "hnsw"]


def row(dataset: str, split: str, stage: str, right: int) -> Row:
    rest: dict[str, Any] = dict.fromkeys(("machine", "weights", "config", "model_folder", "file"), "")
    return Row(
        row=f"{dataset}-{split}-{stage}",
        dataset=dataset,
        stage=stage,
        search="flat",
        ranking="own",
        split=split,
        trained_on="train",
        model="minilm",
        parameters=1,
        hours=0.0,
        figures={"hits": right, "any_id_r1": 1.0 * right, "strict_r1": 1.0 * right, "any_id_r5": 50.0},
        **rest,
    )


def test_selects_over_all_folds_on_dev_and_shows_means() -> None:
    right = dict(zip(FOLD_KEYS, range(10, 20), strict=True))
    rows = [row(key, "test", stage, right[key]) for key in FOLD_KEYS for stage in ("start", "aligned")]
    rows += [row(key, "dev", "start", 5 if key == FOLD_KEYS[0] else 1) for key in FOLD_KEYS]
    rows += [row(key, "dev", "aligned", 2) for key in FOLD_KEYS]
    assert {each.stage for each in dense_results.best_folds(rows)} == {"aligned"}
    assert "| aligned | minilm | flat | own | 10 | 14.5 | 10.0–19.0 | 14.5 | 50.0 |" in folds(rows)
    assert dense_results.best_figures(rows)["askapatient"]["any_id_r1"] == 14.5
    assert dense_results.best_figures([replace(each, split="test") for each in rows]) == {}


def test_datasets_use_their_published_protocol() -> None:
    assert [key for key in KEYS if KINDS[key].protocol == "biosyn"] == ["ncbi_disease_biosyn", "bc5cdr_disease_biosyn"]


def test_docs_page_shows_the_stored_rows() -> None:
    text = PAGE.read_text("utf-8")
    kept = Store(FOLDER / "dense")
    assert page_with(kept.rows(), kept.curves(), text) == text
    assert all(system in text for system, *_ in PUBLISHED)


def test_each_stored_row_has_its_files() -> None:
    store = Store(FOLDER / "dense")
    rows = store.rows()
    assert all((store.folder / row.file).is_file() for row in rows)
    assert all((FOLDER.parent / row.config).is_file() for row in rows if row.config)
    assert {path.name for path in store.folder.glob("*.gz")} == {row.file for row in rows}
