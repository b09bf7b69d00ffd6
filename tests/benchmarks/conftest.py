"""Fixtures: synthetic data in place of the real data files, and a tiny trained model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.results import predict as results_predict
from benchmarks.results.predict import recipe_of

from tests.datasets.made import write, write_askapatient, write_biosyn, write_ncbi
from tests.support.models import save_model
from tests.threads import one_thread

DEV_DICTIONARY = "D005334||fever\nD010146||pain\n"


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture
def small_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder with the files of two datasets, and a cache directory next to it."""
    folder = write_biosyn(write_ncbi(write_askapatient(tmp_path / "data")), packed=False)
    write(folder / "biosyn_format" / "ncbi-disease" / "dev_dictionary.txt", DEV_DICTIONARY)
    monkeypatch.setenv("ONYM_DATA", str(folder))
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of trained models, with the models `tiny` and `other`."""
    folder = tmp_path / "runs"
    for seed, name in enumerate(("tiny", "other")):
        save_model(folder / name, seed=seed)
        write(folder / name / "training.json", json.dumps({"first_start": "tiny-bart", "hours_in_all": 0.5}))
        write(tmp_path / recipe_of("generative", name), "")
    monkeypatch.setattr(results_predict, "ROOT", tmp_path)
    monkeypatch.setenv("ONYM_RUNS", str(folder))
    return folder
