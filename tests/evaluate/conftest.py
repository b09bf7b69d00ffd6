"""Evaluation tasks on tiny prepared datasets."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import prepare
from onym.evaluate.task import EvaluationTask
from tests.datasets.made import write_biosyn, write_ncbi


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> EvaluationTask:
    """Return BioSyn's preparation of a synthetic NCBI corpus; two of its three test mentions are parts of one composite."""
    folder = tmp_path_factory.mktemp("dataset")
    prepare("ncbi-disease-biosyn", write_biosyn(folder), folder / "prepared")
    return EvaluationTask.open(str(folder / "prepared"))


@pytest.fixture(scope="session")
def in_context(tmp_path_factory: pytest.TempPathFactory) -> EvaluationTask:
    """Return GenBioEL's preparation of the same corpus: one document per mention."""
    folder = tmp_path_factory.mktemp("dataset")
    prepare("ncbi-disease-genbioel", write_biosyn(write_ncbi(folder)), folder / "prepared")
    return EvaluationTask.open(str(folder / "prepared"))


@pytest.fixture(scope="session")
def abstracts(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> EvaluationTask:
    """Return the synthetic NCBI corpus; its test document is `İ High fever, OMIM too`, with two mentions."""
    folder = tmp_path_factory.mktemp("dataset")
    prepare("ncbi-disease", write_ncbi(folder), folder / "prepared")
    return EvaluationTask.open(str(folder / "prepared"), kb=tiny_kb)
