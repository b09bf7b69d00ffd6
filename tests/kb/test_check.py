"""Tests of `check_kb`: changed bytes and invalid columns are errors, misleading names are warnings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.check import check_kb
from tests.kb.conftest import Builder


def test_a_changed_byte_is_reported(tiny_kb: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_kb, copy)
    column = next(copy.glob("*/names.data.npy"))
    data = bytearray(column.read_bytes())
    data[-1] ^= 1
    column.write_bytes(data)
    assert [(problem.level, problem.what) for problem in check_kb(copy)] == [("error", "names.data.npy was changed")]


def test_a_missing_kb_is_an_error(tmp_path: Path) -> None:
    assert [problem.level for problem in check_kb(tmp_path)] == ["error"]


def test_misleading_content_is_a_warning(build: Builder, tmp_path: Path) -> None:
    rows = "".join(f"a:{i}\tcommon\n" for i in range(60))
    build("id\tname\n" + rows + "b:x1\t\u0430spirin\nb:X1\tplain\n")  # the first letter of the first name is Cyrillic
    problems = check_kb(tmp_path / "kb")
    assert [problem.level for problem in problems] == ["warning"] * 3
    assert "shared by more than" in problems[0].what
    assert problems[0].examples == ("common",)
    assert "look like" in problems[1].what
    assert problems[2].examples == ("b:X1", "b:x1")


def test_an_out_of_range_column_is_an_error(tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def astray(_: KnowledgeBase) -> None:
        raise IntegrityError("artefact-corrupt", "a column points beyond its table")

    monkeypatch.setattr(KnowledgeBase, "require_sound", astray)
    assert [problem.what for problem in check_kb(tiny_kb)] == ["a column points beyond its table"]
