"""Tiny datasets, prepared, as evaluation tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import prepare
from onym.evaluate.task import EvaluationTask
from tests.datasets.made import write_biosyn, write_ncbi


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> EvaluationTask:
    """Return BioSyn's preparation of the made-up NCBI corpus: three mentions in test, two of them parts of one."""
    folder = tmp_path_factory.mktemp("dataset")
    prepare("ncbi-disease-biosyn", write_biosyn(folder), folder / "prepared")
    return EvaluationTask.open(str(folder / "prepared"))


@pytest.fixture(scope="session")
def in_context(tmp_path_factory: pytest.TempPathFactory) -> EvaluationTask:
    """Return GenBioEL's preparation of it: a document for every mention."""
    folder = tmp_path_factory.mktemp("dataset")
    prepare("ncbi-disease-genbioel", write_biosyn(write_ncbi(folder)), folder / "prepared")
    return EvaluationTask.open(str(folder / "prepared"))


@pytest.fixture(scope="session")
def abstracts(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> EvaluationTask:
    """Return the made-up NCBI corpus itself; its test document is `İ High fever, OMIM too`, with two mentions."""
    folder = tmp_path_factory.mktemp("dataset")
    prepare("ncbi-disease", write_ncbi(folder), folder / "prepared")
    return EvaluationTask.open(str(folder / "prepared"), kb=tiny_kb)
