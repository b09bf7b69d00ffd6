"""Tests of the catalogue of datasets, and of its page in the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onym.datasets import catalogue, get
from onym.errors import ConfigError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "datasets.md"
NAMES = [
    "ncbi-disease", "ncbi-disease-genbioel", "ncbi-disease-biosyn", "bc5cdr", "bc5cdr-disease-biosyn",
    *(f"askapatient-fold{fold}" for fold in range(10)),
    "biored", "nlm-chem", "nlm-gene", "gnormplus", "linnaeus", "s800", "bioid", "tmvar", "species-assignment",
    "hpo-gsc",
    "medmentions", "medmentions-st21pv", "cometa",
]  # fmt: skip


def test_lists_all_datasets_in_order() -> None:
    assert [dataset.name for dataset in catalogue()] == NAMES
    assert all(get(name).name == name for name in NAMES)


def test_unknown_dataset_error_lists_the_names() -> None:
    with pytest.raises(ConfigError, match="dataset-unknown") as caught:
        get("ncbi")
    assert "ncbi-disease-genbioel" in caught.value.fix


def test_no_dataset_restricts_types() -> None:
    assert not any(dataset.restricts_types for dataset in catalogue())


@pytest.mark.parametrize("dataset", catalogue(), ids=lambda dataset: dataset.name)
def test_docs_page_has_a_row_for_each_dataset(dataset: object) -> None:
    name = dataset.name  # type: ignore[attr-defined]
    shown = re.sub(r"fold[0-9]$", "fold0", name)
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| `{shown}`")]
    assert len(rows) == 1
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert cells[2:] == [
        get(shown).kb,
        get(shown).dropped,
        get(shown).protocol,
        get(shown).licence,
    ]
    assert [file.path in cells[1] for file in get(shown).files] == [True] * len(get(shown).files)


def test_docs_page_has_no_other_rows() -> None:
    table = PAGE.read_text("utf-8").partition("\n## ")[0]
    shown = re.findall(r"^\| `([a-z0-9-]+)`", table, re.MULTILINE)
    assert shown == [name for name in NAMES if not re.search(r"fold[1-9]$", name)]
