"""Tests of the name table stored with a knowledge base."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError, IntegrityError
from onym.kb import KnowledgeBase, name_table
from onym.kb.name_table import FOLDER, NameTable, _require_sound, open_name_table
from onym.store.arrays import Strings
from onym.text.fingerprints import NormalTexts

TEXTS = NormalTexts(["No fever, a heart attack.", "", "Myocardial infarction of the heart"])


@pytest.fixture
def kb(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.setattr(name_table, "_FEW", 0)
    shutil.copytree(tiny_kb, tmp_path / "kb")
    return KnowledgeBase.open(tmp_path / "kb")


def find_rows(table: NameTable, texts: NormalTexts = TEXTS) -> list[tuple[int, ...]]:
    return sorted(zip(*(column.tolist() for column in table.find(texts)), strict=True))


def test_the_table_is_built_once_and_reopened(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_name_table(kb)
    monkeypatch.setattr(name_table, "write_name_table", None)
    second = open_name_table(kb)
    assert find_rows(first) == find_rows(second) == find_rows(NameTable.of(kb.names))
    names = {TEXTS.text[TEXTS.starts[first] : TEXTS.ends[last]]: kb.names[row] for first, last, row in find_rows(second)}
    assert set(names) == set(names.values()) >= {"fever", "heart attack", "myocardial infarction"}


def test_a_small_table_is_not_stored(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_table, "_FEW", 1_000)
    open_name_table(kb)
    assert not (kb.folder.parent / FOLDER).exists()


def test_the_table_is_built_in_memory_if_no_folder_is_writable(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConfigError("output-failed", "cannot be written")

    monkeypatch.setattr(name_table, "open_derived", refuse)
    assert find_rows(open_name_table(kb)) == find_rows(NameTable.of(kb.names))


@pytest.mark.parametrize("column", ["fingerprints", "rows", "is-name", "goes-on"])
def test_a_corrupt_table_is_rebuilt(kb: KnowledgeBase, column: str) -> None:
    expected = find_rows(open_name_table(kb))
    (file,) = (kb.folder.parent / FOLDER).glob(f"*/*/{column}.npy")
    data = bytearray(file.read_bytes())
    data[-1] ^= 255
    file.chmod(0o644)
    file.write_bytes(bytes(data))
    assert find_rows(open_name_table(kb)) == expected


def test_rejects_inconsistent_columns() -> None:
    table = NameTable.of(Strings.of(["cough", "fever"]))
    _require_sound(table, 2, "kb")
    for other, count in (
        (table, 3),
        (replace(table, rows=table.rows + np.uint32(1)), 2),
        (replace(table, fingerprints=table.fingerprints[::-1]), 2),
        (replace(table, goes_on=table.goes_on[:3]), 2),
        (replace(table, is_name=table.is_name.astype(np.uint16)), 2),
    ):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            _require_sound(other, count, "kb")


def test_several_names_with_one_fingerprint_are_all_returned() -> None:
    table = NameTable.of(Strings.of(["cough", "fever"]))
    same = replace(table, fingerprints=table.fingerprints[[0, 0]], rows=table.rows)
    (word,) = np.flatnonzero([row == int(table.rows[0]) for row in range(2)])
    rows = [row for _, _, row in find_rows(same, NormalTexts([["cough", "fever"][int(word)]]))]
    assert sorted(rows) == [0, 1]


def test_finds_long_names_and_handles_empty_input() -> None:
    name = " ".join(f"word{number}" for number in range(40))
    assert find_rows(NameTable.of(Strings.of([name])), NormalTexts([f"a {name}", name])) == [(1, 40, 0), (41, 80, 0)]
    assert find_rows(NameTable.of(Strings.of([])), TEXTS) == []
    assert find_rows(NameTable.of(Strings.of(["fever"])), NormalTexts([])) == []
