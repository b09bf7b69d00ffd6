"""Tests of model folders: safe weights, digests, and fetching from the hub."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError, InputError
from onym.store.models import FETCHED, fetch_model, folder_digest, folder_of, require_safe, weight_files, weights_digest


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    return tmp_path


def test_rejects_bin_weights(model: Path) -> None:
    require_safe(model)
    (model / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="model-missing"):
        require_safe(model)
    (model / "pytorch_model.bin").write_bytes(b"not even a pickle")
    with pytest.raises(ConfigError, match="model-unsafe") as caught:
        require_safe(model)
    assert "onym model convert" in caught.value.fix
    (model / "pytorch_model.bin").rename(model / "pytorch_model.bin.index.json")
    with pytest.raises(ConfigError, match="model-unsafe"):
        require_safe(model)
    (model / "model.safetensors.index.json").write_text("{}")
    require_safe(model)


def test_weights_digest_covers_only_the_weights(model: Path) -> None:
    before = weights_digest(model)
    (model / "config.json").write_text('{"dropout": 0.5}')
    assert weights_digest(model) == before
    (model / "model.safetensors.index.json").write_text("{}")
    assert weights_digest(model) == before, "an index next to the single file is ignored"
    (model / "model.safetensors").write_bytes(b"weight")
    assert weights_digest(model) != before
    assert len(before) == 16


def test_local_folder_is_returned_unchanged(model: Path) -> None:
    assert folder_of(model, download=True) == folder_of(str(model), download=False) == model


def test_fetches_a_model_by_name_only_if_download_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.store.models.fetch_model", lambda name, files: Path("/models", name, *files))
    with pytest.raises(ConfigError, match="model-missing"):
        folder_of("lab/one", download=False)
    assert folder_of("lab/one", ("a.json",), download=True) == Path("/models/lab/one/a.json")


def test_fetches_neither_code_nor_bin_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    requested: dict[str, Any] = {}

    def snapshot(name: str, *, allow_patterns: list[str]) -> str:
        requested[name] = allow_patterns
        return "/models/one"

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert fetch_model("lab/one") == Path("/models/one")
    fetch_model("lab/two", ("tokenizer.json",))
    assert requested == {
        "lab/one": ["*.json", "*.safetensors", "*.txt", "*.model", "*.md"],
        "lab/two": ["tokenizer.json"],
    }


@pytest.mark.parametrize("problem", [OSError("no network"), ValueError("no name")])
def test_failed_fetch_raises(monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    pytest.importorskip("huggingface_hub")

    def snapshot(*_: Any, **__: Any) -> str:
        raise problem

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    with pytest.raises(InputError, match="model-missing"):
        fetch_model("lab/one")


def test_invalid_model_name_raises() -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(InputError, match="model-missing"):
        fetch_model("../../etc")


def test_missing_huggingface_hub_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match="extra-missing"):
        fetch_model("lab/one")


def test_fetches_files_in_subfolders() -> None:
    paths = pytest.importorskip("huggingface_hub.utils")
    files = ["1_Pooling/config.json", "names/model.safetensors", "model.py", "pytorch_model.bin", "onnx/model.onnx"]
    assert list(paths.filter_repo_objects(files, allow_patterns=list(FETCHED))) == files[:2]


def test_an_adapter_is_rejected(model: Path) -> None:
    (model / "adapter_config.json").write_text("{}")
    with pytest.raises(ConfigError, match="model-adapter"):
        require_safe(model)


# Tests of the digest of weight files.


def test_shards_are_those_listed_in_the_index(tmp_path: Path) -> None:
    for name in ("model-1.safetensors", "part.safetensors", "deep/part.safetensors", "heads.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    index = {"weight_map": {"a": "part.safetensors", "b": "deep/part.safetensors", "c": "model-1.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    names = ["deep/part.safetensors", "model-1.safetensors", "part.safetensors", "model.safetensors.index.json"]
    assert weight_files(tmp_path) == [tmp_path / name for name in names]
    before = weights_digest(tmp_path)
    (tmp_path / "deep" / "part.safetensors").write_bytes(b"22")
    assert weights_digest(tmp_path) != before


def test_folder_without_weights_has_no_weight_files(tmp_path: Path) -> None:
    assert weight_files(tmp_path) == []


def test_single_weight_file_takes_precedence_over_shards(model: Path) -> None:
    (model / "config.json").write_text(json.dumps({"transformers_weights": "own.safetensors"}))
    for name in ("own.safetensors", "model-1.safetensors"):
        (model / name).write_bytes(b"1")
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "own.safetensors"}}))
    assert weight_files(model) == [model / "model.safetensors"]


OUTSIDE = ["../other.safetensors", "/other.safetensors", "a/../../other.safetensors", "a/../b.safetensors", ".b.safetensors"]


@pytest.mark.parametrize("name", [*OUTSIDE, "none.safetensors", "b.bin", "b.json", "", ".", "a"])
def test_rejects_shards_that_are_not_safetensors_in_the_folder(tmp_path: Path, name: str) -> None:
    model = tmp_path / "model"
    (model / "a").mkdir(parents=True)
    for path in (tmp_path / "other.safetensors", *(model / each for each in (".b.safetensors", "b.safetensors", "b.bin"))):
        path.write_bytes(b"1")
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "b.safetensors", "b": name}}))
    with pytest.raises(InputError, match="model-malformed"):
        weights_digest(model)


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": 3}', '{"weight_map": {}}'])
def test_rejects_an_index_without_shards(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(InputError, match="model-malformed"):
        weight_files(tmp_path)


# Tests of the digest of a whole folder.


def test_digest_covers_each_file(model: Path) -> None:
    for name in ("tokenizer.json", "spiece.model", "1_Pooling/config.json", "names/deep/model.safetensors", "odd"):
        before = folder_digest(model)
        (model / name).parent.mkdir(parents=True, exist_ok=True)
        (model / name).write_text("1")
        after = folder_digest(model)
        (model / name).write_text("22")
        assert len({before, after, folder_digest(model)}) == 3


def test_renaming_a_file_changes_the_digest(model: Path) -> None:
    before = folder_digest(model)
    (model / "config.json").rename(model / "other.json")
    assert folder_digest(model) != before


@pytest.mark.parametrize(
    "name", ["optimizer.pt", "pytorch_model.bin", "onnx/model.onnx", "code.PY", ".git/config", ".cache", "README.md", "a/b.MD"]
)
def test_digest_ignores_files_that_are_never_loaded(model: Path, name: str) -> None:
    before = folder_digest(model)
    (model / name).parent.mkdir(exist_ok=True)
    (model / name).write_text("1")
    assert folder_digest(model) == before


def test_digest_of_earlier_versions_includes_markdown_files(model: Path) -> None:
    without = folder_digest(model)
    (model / "README.md").write_text("1")
    before = folder_digest(model, with_pages=True)
    (model / "README.md").write_text("22")
    assert len({without, before, folder_digest(model, with_pages=True)}) == 3


def test_digest_can_be_limited_to_named_files(model: Path) -> None:
    only = folder_digest(model, ["config.json", "none.json"])
    assert only != folder_digest(model)
    (model / "model.safetensors").write_bytes(b"13")
    assert folder_digest(model, ["config.json"]) == only


def test_digest_follows_links(model: Path) -> None:
    (model / "other.txt").write_text("1")
    (model / "vocab.txt").symlink_to("other.txt")
    before = folder_digest(model)
    (model / "other.txt").write_text("22")
    assert folder_digest(model) != before
    (model / "other.txt").write_text("1")
    (model / "vocab.txt").unlink()
    (model / "vocab.txt").write_text("1")
    assert folder_digest(model) == before, "a copy has the same digest"


def test_a_link_that_leads_out_is_rejected(model: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "tokenizer.json"
    other.write_text("1")
    (model / "tokenizer.json").symlink_to(other)
    for act in (folder_digest, require_safe, lambda folder: folder_digest(folder, ["tokenizer.json"])):
        with pytest.raises(InputError, match="model-outside"):
            act(model)
