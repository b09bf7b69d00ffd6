"""Tests of copying models into a pack, and of the licences of their training data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.packs.build import PackedModels, find_corpora, find_restricted_models
from onym.parts import ModelReference, TokenizerReference
from tests.support.models import save_reranker


def test_a_model_is_copied_once_and_names_do_not_collide(tmp_path: Path) -> None:
    first, second = save_reranker(tmp_path / "a" / "My Model"), save_reranker(tmp_path / "b" / "my-model", {"seed": 1})
    models = PackedModels()
    paths = [models.add(ModelReference(path=str(each)), tmp_path).path for each in (first, second, first)]
    assert paths == ["models/my-model", "models/my-model-2", "models/my-model"]
    assert models.folders == [first, second]
    assert [name for name, _ in models.files()] == ["models/my-model", "models/my-model-2"]


def test_tokenizer_reference_copies_only_the_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / "t" / name).write_text("{}")
    models = PackedModels()
    models.add(TokenizerReference(path="t"), tmp_path)
    assert [list(files) for _, files in models.files()] == [["tokenizer.json"]]


def test_corpora_have_the_licences_of_their_records(tmp_path: Path) -> None:
    corpora = [{"name": "biored", "licence": "MIT", "documents": 3}, {"name": "mine", "licence": "one's own"}]
    folders = [save_reranker(tmp_path / "a", {"corpora": corpora}), save_reranker(tmp_path / "b", {"corpus": corpora[0]})]
    assert [(each.name, each.documents, each.licence) for each in find_corpora(folders)] == [
        ("biored", 3, "MIT"),
        ("mine", 0, "not stated"),
    ]
    assert find_corpora(folders, {"Mine": "CC0"})[1].licence == "CC0"
    assert find_corpora([save_reranker(tmp_path / "c", {"corpus": {}})]) == ()


@pytest.mark.parametrize(
    ("record", "meaning", "expected"),
    [
        ({}, "mesh:D1", []),
        ({"corpora": [{"name": "bc5cdr"}]}, "mesh:D1", []),
        ({"corpora": [{"name": "medmentions"}]}, "mesh:D1", ["trained on medmentions"]),
        ({"corpora": [{"name": "notes"}], "config": {"data": {"private": True}}}, "a:1", ["trained on private data (notes)"]),
        ({}, "umls:C1", ["annotations with ids of UMLS"]),
        ({}, "snomedct:1", ["annotations with ids of SNOMED CT"]),
    ],
)
def test_restricted_training_data_is_found(tmp_path: Path, record: dict[str, Any], meaning: str, expected: list[str]) -> None:
    assert find_restricted_models([save_reranker(tmp_path / "a", record, {"fever": meaning})]) == expected
    (tmp_path / "no-memory").mkdir()
    assert find_restricted_models([tmp_path / "no-memory"]) == []
