"""The folder of a model: safe weights, their digest, and what is fetched."""

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


def test_old_files_of_weights_are_refused(model: Path) -> None:
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


def test_the_digest_is_that_of_the_weights_alone(model: Path) -> None:
    before = weights_digest(model)
    (model / "config.json").write_text('{"dropout": 0.5}')
    assert weights_digest(model) == before
    (model / "model.safetensors.index.json").write_text("{}")
    assert weights_digest(model) == before, "an index beside the one file is not looked at"
    (model / "model.safetensors").write_bytes(b"weight")
    assert weights_digest(model) != before
    assert len(before) == 16


def test_a_folder_is_taken_as_it_is(model: Path) -> None:
    assert folder_of(model, download=True) == folder_of(str(model), download=False) == model


def test_a_name_is_fetched_only_where_that_is_wished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.store.models.fetch_model", lambda name, files: Path("/models", name, *files))
    with pytest.raises(ConfigError, match="model-missing"):
        folder_of("lab/one", download=False)
    assert folder_of("lab/one", ("a.json",), download=True) == Path("/models/lab/one/a.json")


def test_fetching_asks_for_no_code_and_no_old_weights(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_what_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    pytest.importorskip("huggingface_hub")

    def snapshot(*_: Any, **__: Any) -> str:
        raise problem

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    with pytest.raises(InputError, match="model-missing"):
        fetch_model("lab/one")


def test_a_name_that_is_none() -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(InputError, match="model-missing"):
        fetch_model("../../etc")


def test_without_the_library_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match="extra-missing"):
        fetch_model("lab/one")


def test_what_is_fetched_lies_in_sub_folders_too() -> None:
    paths = pytest.importorskip("huggingface_hub.utils")
    files = ["1_Pooling/config.json", "names/model.safetensors", "model.py", "pytorch_model.bin", "onnx/model.onnx"]
    assert list(paths.filter_repo_objects(files, allow_patterns=list(FETCHED))) == files[:2]


def test_an_adapter_is_refused(model: Path) -> None:
    (model / "adapter_config.json").write_text("{}")
    with pytest.raises(ConfigError, match="model-adapter"):
        require_safe(model)


# The digest of weights.


def test_shards_are_those_that_an_index_names(tmp_path: Path) -> None:
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


def test_without_weights(tmp_path: Path) -> None:
    assert weight_files(tmp_path) == []


def test_with_one_file_nothing_else_is_loaded(model: Path) -> None:
    (model / "config.json").write_text(json.dumps({"transformers_weights": "own.safetensors"}))
    for name in ("own.safetensors", "model-1.safetensors"):
        (model / name).write_bytes(b"1")
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "own.safetensors"}}))
    assert weight_files(model) == [model / "model.safetensors"]


OUTSIDE = ["../other.safetensors", "/other.safetensors", "a/../../other.safetensors", "a/../b.safetensors", ".b.safetensors"]


@pytest.mark.parametrize("name", [*OUTSIDE, "none.safetensors", "b.bin", "b.json", "", ".", "a"])
def test_shards_are_safetensors_of_the_folder(tmp_path: Path, name: str) -> None:
    model = tmp_path / "model"
    (model / "a").mkdir(parents=True)
    for path in (tmp_path / "other.safetensors", *(model / each for each in (".b.safetensors", "b.safetensors", "b.bin"))):
        path.write_bytes(b"1")
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "b.safetensors", "b": name}}))
    with pytest.raises(InputError, match="model-malformed"):
        weights_digest(model)


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": 3}', '{"weight_map": {}}'])
def test_an_index_that_names_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(InputError, match="model-malformed"):
        weight_files(tmp_path)


# The digest of a folder.


def test_each_file_of_a_folder_counts(model: Path) -> None:
    for name in ("tokenizer.json", "spiece.model", "1_Pooling/config.json", "names/deep/model.safetensors", "odd"):
        before = folder_digest(model)
        (model / name).parent.mkdir(parents=True, exist_ok=True)
        (model / name).write_text("1")
        after = folder_digest(model)
        (model / name).write_text("22")
        assert len({before, after, folder_digest(model)}) == 3


def test_a_file_under_another_name_is_another_folder(model: Path) -> None:
    before = folder_digest(model)
    (model / "config.json").rename(model / "other.json")
    assert folder_digest(model) != before


@pytest.mark.parametrize(
    "name", ["optimizer.pt", "pytorch_model.bin", "onnx/model.onnx", "code.PY", ".git/config", ".cache", "README.md", "a/b.MD"]
)
def test_files_that_no_model_is_loaded_from_do_not_count(model: Path, name: str) -> None:
    before = folder_digest(model)
    (model / name).parent.mkdir(exist_ok=True)
    (model / name).write_text("1")
    assert folder_digest(model) == before


def test_pages_counted_in_earlier_versions(model: Path) -> None:
    without = folder_digest(model)
    (model / "README.md").write_text("1")
    before = folder_digest(model, with_pages=True)
    (model / "README.md").write_text("22")
    assert len({without, before, folder_digest(model, with_pages=True)}) == 3


def test_only_some_files_may_count(model: Path) -> None:
    only = folder_digest(model, ["config.json", "none.json"])
    assert only != folder_digest(model)
    (model / "model.safetensors").write_bytes(b"13")
    assert folder_digest(model, ["config.json"]) == only


def test_a_link_counts_by_what_it_leads_to(model: Path) -> None:
    (model / "other.txt").write_text("1")
    (model / "vocab.txt").symlink_to("other.txt")
    before = folder_digest(model)
    (model / "other.txt").write_text("22")
    assert folder_digest(model) != before
    (model / "other.txt").write_text("1")
    (model / "vocab.txt").unlink()
    (model / "vocab.txt").write_text("1")
    assert folder_digest(model) == before, "a copy of the same content"


def test_a_link_that_leads_out_is_refused(model: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "tokenizer.json"
    other.write_text("1")
    (model / "tokenizer.json").symlink_to(other)
    for act in (folder_digest, require_safe, lambda folder: folder_digest(folder, ["tokenizer.json"])):
        with pytest.raises(InputError, match="model-outside"):
            act(model)
