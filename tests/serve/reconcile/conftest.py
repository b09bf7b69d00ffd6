"""Fixtures: a small knowledge base with hostile names and definitions (scripts), and a pipeline over it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.packs.locate import load
from onym.pipeline import Pipeline, build_pipeline
from onym.pipeline.folder import store_calibration
from tests.pipeline.calibrated import fit_calibration
from tests.robustness.serve.reconcile_cases import specs_folder

HOSTILE = "<script>alert(1)</script>"
ROWS = f"""id\tname\tsynonyms\tdefinition\ttypes\txrefs\tparents
mesh:D009203\tMyocardial Infarction\tHeart attack|MI\tNecrosis of the myocardium.\tC14\tomim:608446\t
mesh:D005334\tFever\tPyrexia|Hyperthermia|Ague\tA rise of temperature.\tC23\thp:0001945\tmesh:D000001|mesh:D006973
mesh:D006973\tHypertension\tHigh blood pressure|MI\t\tC14\t\t
mesh:D000001\t{HOSTILE}\t{HOSTILE}&amp;\t{HOSTILE}"'\tC23\thp:{HOSTILE}\t
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a calibrated TF-IDF pipeline."""
    base = tmp_path_factory.mktemp("reconcile")
    (base / "rows.tsv").write_text(ROWS)
    build_kb(Recipe(sources=(SourceConfig(path="rows.tsv", name="rows"),), groups=True), base / "kb", root=base)
    build_pipeline(base / "kb", base / "pipeline", linker="tfidf")
    store_calibration(base / "pipeline", fit_calibration(4_000).model_copy(update={"mentions": "terms"}))
    return base / "pipeline"


@pytest.fixture(scope="session")
def pipeline(folder: Path) -> Pipeline:
    return load(folder)


@pytest.fixture(scope="session")
def kb(pipeline: Pipeline) -> KnowledgeBase:
    return pipeline.kb


@pytest.fixture(scope="session")
def real_specs() -> Path:
    """Return the folder of specifications; if it is missing, skip the test, or fail in CI."""
    found = specs_folder()
    if not found.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"the specifications are missing in CI: {found} does not exist")
        pytest.skip(f"the specifications are missing: {found}")
    return found
