"""Tests that local paths are removed from training records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.methods.reranker.model import open_reranker
from onym.packs.build import make_portable
from tests.support.models import save_reranker


def files_of(folder: Path) -> dict[str, Path]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path for path in found}


def test_artefact_with_rewritten_record_is_valid(tmp_path: Path) -> None:
    model = save_reranker(tmp_path / "model", {"kb": "/home/me/kbs/mesh", "seed": 3, "note": "a/b and /"})
    files = make_portable(files_of(model))
    assert all(isinstance(files[name], Path) for name in files if name.startswith("memory/"))
    for name, content in files.items():
        path = tmp_path / "copy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else Path(str(content)).read_bytes())
    copy = open_reranker(tmp_path / "copy")
    assert copy.digest != open_reranker(model).digest
    (record,) = (tmp_path / "copy").glob("trees/*/training.json")
    for path in (record, tmp_path / "copy" / "training.json"):
        assert json.loads(path.read_text()) == {"kb": "mesh", "seed": 3, "note": "a/b and /"}


def test_records_without_paths_are_unchanged(tmp_path: Path) -> None:
    model = save_reranker(tmp_path / "model", {"kb": "mesh", "relative": "kbs/mesh"})
    assert make_portable(files_of(model)) == files_of(model)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/home/me/kb", "kb"),
        ("/home/me/kb/", "kb"),
        ("~/kbs/mesh", "mesh"),
        ("C:\\Users\\me\\kb", "kb"),
        (["/a/b", {"c": "/d/e"}], ["b", {"c": "e"}]),
        ("/", "/"),
        ("//", "//"),
        ("</s>", "</s>"),
        ("and/or", "and/or"),
        (3, 3),
    ],
)
def test_paths_are_distinguished_from_other_strings(tmp_path: Path, value: object, expected: object) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"value": value}))
    content = make_portable({path.name: path})[path.name]
    data = content if isinstance(content, bytes) else path.read_bytes()
    assert json.loads(data) == {"value": expected}


def test_model_config_is_never_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"_name_or_path": "minilm"}')
    assert make_portable({"1_Pooling/config.json": path}) == {"1_Pooling/config.json": path}
    path.write_text('{"_name_or_path": "/home/me/minilm"}')
    with pytest.raises(ConfigError, match="pack-path"):
        make_portable({"config.json": path})
