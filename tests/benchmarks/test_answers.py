"""Tests that stored predictions never change: the header line may be migrated, but all other lines stay byte-identical."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.results.papers.rows import PAPERS
from benchmarks.results.rerank_rows import KINDS, file_of
from benchmarks.results.store import FOLDER

SECTIONS = sorted(path.parent.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("rows.json"))


def digest(path: Path) -> str:
    """Return the SHA-256 of all lines after the first."""
    return hashlib.sha256(gzip.decompress(path.read_bytes()).split(b"\n", 1)[1]).hexdigest()


def files_of(section: str, rows: Any) -> list[str]:
    """Return the prediction files of rows; reranker rows of the same dataset and split share one file."""
    if isinstance(rows, dict):
        is_paper = section.endswith(PAPERS.name)
        datasets = {key: key if is_paper else KINDS[key].dataset for key in rows}
        return list({file_of(datasets[key], split).name for key, row in rows.items() for split in row})
    return [row["file"] for row in rows]


@pytest.mark.parametrize("section", SECTIONS)
def test_stored_answers_are_unchanged(section: str) -> None:
    kept = json.loads((FOLDER / section / "answers.json").read_text())
    assert {path.name: digest(path) for path in (FOLDER / section).glob("*.jsonl.gz")} == kept


@pytest.mark.parametrize("section", SECTIONS)
def test_rows_and_prediction_files_match(section: str) -> None:
    rows = json.loads((FOLDER / section / "rows.json").read_text())
    assert sorted(files_of(section, rows)) == sorted(path.name for path in (FOLDER / section).glob("*.jsonl.gz"))


def test_detects_a_changed_answer(tmp_path: Path) -> None:
    path = next((FOLDER / SECTIONS[0]).glob("*.jsonl.gz"))
    head, answers = gzip.decompress(path.read_bytes()).split(b"\n", 1)
    (tmp_path / "same.gz").write_bytes(gzip.compress(head + b" \n" + answers))
    (tmp_path / "other.gz").write_bytes(gzip.compress(head + b"\n" + answers.replace(b'"start":', b'"start": ', 1)))
    assert digest(tmp_path / "same.gz") == digest(path) != digest(tmp_path / "other.gz")
