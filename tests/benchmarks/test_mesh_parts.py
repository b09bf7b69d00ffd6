"""Tests of extracting the trained models of a pack, and of comparing them with the packaged files."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.mesh_parts import RECIPE, _unpack_models, differing

from onym.packs.locate import pack_folder
from onym.packs.recipe import read_recipe
from onym.store.models import folder_digest
from tests.packs.made import write_pack


def test_extracts_models_of_a_pack(tmp_path: Path, tiny_kb: Path) -> None:
    parts = _unpack_models(write_pack(tmp_path / "a", tiny_kb), tmp_path / "parts")
    assert sorted(path.name for path in parts.iterdir()) == ["pipeline.json", "reranker"]
    assert json.loads((parts / "pipeline.json").read_bytes())["linker"]["model"]["path"] == "reranker"
    again = _unpack_models(write_pack(tmp_path / "b", tiny_kb), tmp_path / "again")
    assert differing(parts, again) == []
    (again / "README.md").write_text("what a person wrote")
    assert differing(parts, again) == []
    (again / "pipeline.json").write_text("{}")
    (again / "more").write_text("")
    assert differing(parts, again) == ["more", "pipeline.json"]


def test_package_contains_the_models_of_its_pipeline() -> None:
    folder = pack_folder("mesh")
    values = json.loads((folder / "pipeline.json").read_bytes())
    for reference in (values["detector"]["model"], values["detector"]["names"]["classifier"], values["linker"]["model"]):
        assert folder_digest(folder / reference["path"]) == reference["digest"]
    assert read_recipe(RECIPE).pipeline.threshold == values["threshold"]
    records = [json.loads(path.read_bytes()) for path in folder.rglob("training.json")]
    assert {record["kb"]["digest"] for record in records} == {values["kb"]["digest"]}
    assert {record["config"]["data"]["kb"] for record in records} == {"knowledge-base"}
