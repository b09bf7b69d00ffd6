"""Tests of the record of an installed pipeline (recipe.json)."""

from __future__ import annotations

from pathlib import Path

from onym.packs.recipe import (
    ATTRIBUTION,
    RECORD,
    FileSources,
    InstallRecord,
    RecipeInputs,
    gather_inputs,
    identity_of,
    read_record,
    write_record,
)
from tests.packs.small import OBO, TRAINED, small_recipe

RERANK = {
    "detector": {"kind": "dictionary", "classifier": "classifier", "threshold": 0.0},
    "linker": {"kind": "rerank", "model": "reranker"},
}


def _inputs(folder: Path, text: str = OBO) -> RecipeInputs:
    folder.mkdir(exist_ok=True)
    (folder / "fevers.obo").write_text(text)
    return gather_inputs(small_recipe(), FileSources(folder=folder))


def test_round_trip(tmp_path: Path) -> None:
    recipe = small_recipe()
    record = InstallRecord.of_inputs(recipe, _inputs(tmp_path))
    write_record(recipe, record, tmp_path)
    assert read_record(tmp_path) == record
    text = (tmp_path / ATTRIBUTION).read_text()
    assert "Cite the fevers." in text
    assert "CC0" in text


def test_corrupt_record_is_read_as_none(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text('{"files": [{"part": 1}]}')
    assert read_record(tmp_path) is None


def test_digests_depend_on_files_and_recipe(tmp_path: Path) -> None:
    recipe = small_recipe()
    first, second = (
        InstallRecord.of_inputs(recipe, _inputs(tmp_path / "a")),
        InstallRecord.of_inputs(recipe, _inputs(tmp_path / "b", OBO + "\n")),
    )
    assert first.kb_digest != second.kb_digest
    assert first.key != second.key
    other = InstallRecord.of_inputs(small_recipe(title="Others"), _inputs(tmp_path / "a"))
    assert other.kb_digest == first.kb_digest
    assert other.key != first.key


def test_digest_covers_trained_components_and_calibration() -> None:
    whole = small_recipe(trained=TRAINED, pipeline=RERANK)
    without = small_recipe(trained={**TRAINED, "calibration": False}, pipeline=RERANK)
    assert len({identity_of(each) for each in (small_recipe(), whole, without)}) == 3
