"""Tests that exported knowledge bases can be read back."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.export import ExportFormat, export_kb
from onym.kb.recipe import Recipe
from tests.kb.conftest import Builder

FILES: dict[ExportFormat, str] = {"jsonl": "kb.jsonl", "biosyn": "kb.txt", "genbioel": "target_kb.json", "tsv": "kb.tsv"}


def export_bytes(kb: KnowledgeBase, form: ExportFormat) -> bytes:
    file = io.BytesIO()
    export_kb(kb, file, form)
    return file.getvalue()


@pytest.mark.parametrize("form", FILES)
def test_exports_are_read_back_with_the_same_names(tiny_kb: Path, tmp_path: Path, form: ExportFormat) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    (tmp_path / FILES[form]).write_bytes(export_bytes(kb, form))
    build_kb(Recipe.of({"sources": [{"path": FILES[form]}]}), tmp_path / "again", root=tmp_path)
    again = KnowledgeBase.open(tmp_path / "again")
    assert {c.id: set(c.names) for c in again} == {c.id: set(c.names) for c in kb}
    if form in ("jsonl", "tsv"):
        assert [(c.preferred_name, c.types, c.definitions, c.xrefs) for c in again] == [
            (c.preferred_name, c.types, c.definitions, c.xrefs) for c in kb
        ]


def test_genbioel_is_one_object_for_any_number_of_writes(build: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.kb.export._CONCEPTS", 2)
    kb = build("id\tname\n" + "".join(f"a:{i}\tname {i}\n" for i in range(5)))
    assert json.loads(export_bytes(kb, "genbioel")) == {f"a:{i}": [f"name {i}"] for i in range(5)}


@pytest.mark.parametrize("form", FILES)
def test_selected_concepts_are_exported_as_among_all(
    build: Builder, form: ExportFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onym.kb.export._CONCEPTS", 2)
    rows = [f"a:{i}\tname {i}\tother {i}\n" for i in range(7)]
    kb, chosen = build("id\tname\tsynonyms\n" + "".join(rows)), [0, 2, 3, 6]
    fewer = build("id\tname\tsynonyms\n" + "".join(rows[i] for i in chosen), dest="fewer")
    file = io.BytesIO()
    export_kb(kb, file, form, only=np.isin(np.arange(7), chosen))
    assert file.getvalue() == export_bytes(fewer, form)


def test_id_styles(tiny_kb: Path) -> None:
    file = io.BytesIO()
    export_kb(KnowledgeBase.open(tiny_kb), file, "biosyn", "raw")
    assert file.getvalue().startswith(b"D005334||fever\n")


def test_an_unknown_format_is_rejected(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="format-unknown"):
        export_kb(KnowledgeBase.open(tiny_kb), io.BytesIO(), "xlsx")  # type: ignore[arg-type]
