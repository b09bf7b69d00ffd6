"""A tiny benchmark, prepared, and what a linker answers to it."""

from __future__ import annotations

import pytest

from onym.datasets import Prepared, prepare
from tests.datasets.made import write_biosyn, write_ncbi


@pytest.fixture(scope="session")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Return BioSyn's preparation of the made-up NCBI corpus: three mentions in test, two of them parts of one."""
    folder = tmp_path_factory.mktemp("benchmark")
    return prepare("ncbi-disease-biosyn", write_biosyn(folder), folder / "prepared")


@pytest.fixture(scope="session")
def in_context(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Return GenBioEL's preparation of it: a document for every mention."""
    folder = tmp_path_factory.mktemp("benchmark")
    return prepare("ncbi-disease-genbioel", write_biosyn(write_ncbi(folder)), folder / "prepared")
