"""The answers of kept results never change: headers may be migrated, the lines of answers stay byte for byte."""

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
    """Return the SHA-256 of all lines but the first."""
    return hashlib.sha256(gzip.decompress(path.read_bytes()).split(b"\n", 1)[1]).hexdigest()


def files_of(section: str, rows: Any) -> list[str]:
    """Return the files of rows; those of the reranker are by type of mentions and split, and share the file of a dataset."""
    if isinstance(rows, dict):
        is_paper = section.endswith(PAPERS.name)
        datasets = {key: key if is_paper else KINDS[key].dataset for key in rows}
        return list({file_of(datasets[key], split).name for key, row in rows.items() for split in row})
    return [row["file"] for row in rows]


@pytest.mark.parametrize("section", SECTIONS)
def test_the_answers_are_those_that_were_kept(section: str) -> None:
    kept = json.loads((FOLDER / section / "answers.json").read_text())
    assert {path.name: digest(path) for path in (FOLDER / section).glob("*.jsonl.gz")} == kept


@pytest.mark.parametrize("section", SECTIONS)
def test_each_row_has_its_file_and_each_file_its_row(section: str) -> None:
    rows = json.loads((FOLDER / section / "rows.json").read_text())
    assert sorted(files_of(section, rows)) == sorted(path.name for path in (FOLDER / section).glob("*.jsonl.gz"))


def test_a_changed_answer_is_found(tmp_path: Path) -> None:
    path = next((FOLDER / SECTIONS[0]).glob("*.jsonl.gz"))
    head, answers = gzip.decompress(path.read_bytes()).split(b"\n", 1)
    (tmp_path / "same.gz").write_bytes(gzip.compress(head + b" \n" + answers))
    (tmp_path / "other.gz").write_bytes(gzip.compress(head + b"\n" + answers.replace(b'"start":', b'"start": ', 1)))
    assert digest(tmp_path / "same.gz") == digest(path) != digest(tmp_path / "other.gz")
