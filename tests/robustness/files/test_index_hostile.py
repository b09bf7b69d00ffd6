"""Tests that hostile index files are rejected before FAISS reads a byte, and that the suite reports accepted files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from onym.methods.dense.index import artefact
from tests.robustness.files import index_hostile
from tests.robustness.files.index_hostile import Good, goods, judge_files


@pytest.fixture
def good(tmp_path: Path) -> list[Good]:
    return goods(tmp_path)


def test_rejects_hostile_files(good: list[Good], tmp_path: Path) -> None:
    with index_hostile._count_reads() as reads:
        found = judge_files(good, tmp_path / "hostile", random.Random(5), 150, reads)
    assert (found["files"], found["refused"], found["bodies_outside"]) == (150, 150, 0)
    assert found["forged"] > 30
    assert found["bodies"] == found["bodies_read"] + found["bodies_refused"] > 0


def test_suite_detects_missing_structure_validation(good: list[Good], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artefact, "problem_of", lambda *_words, **_more: "")
    monkeypatch.setattr(artefact, "_read", lambda *_: (_ for _ in ()).throw(artefact._corrupt_error("read", "")))
    with index_hostile._count_reads() as reads:
        found = judge_files(good, tmp_path / "hostile", random.Random(5), 100, reads)
    assert found["refused"] < found["files"] == 100
