"""The folder of a model: safe weights, their digest, and what is fetched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError, InputError
from onym.store.models import fetch_model, folder_digest, folder_of, require_safe, weights_digest


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
    assert weights_digest(model) != before
    (model / "model.safetensors.index.json").unlink()
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
    asked: dict[str, Any] = {}

    def snapshot(name: str, *, allow_patterns: list[str]) -> str:
        asked[name] = allow_patterns
        return "/models/one"

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert fetch_model("lab/one") == Path("/models/one")
    fetch_model("lab/two", ("tokenizer.json",))
    assert asked == {
        "lab/one": ["*.json", "*.safetensors", "*.txt", "*.model", "names/*.json", "names/*.safetensors"],
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


def test_the_digest_of_a_folder_is_that_of_what_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"12")
    first = folder_digest(tmp_path)
    (tmp_path / "optimizer.pt").write_bytes(b"x")
    assert folder_digest(tmp_path) == first
    assert folder_digest(tmp_path, ["config.json"]) != first
    (tmp_path / "model.safetensors").write_bytes(b"13")
    assert folder_digest(tmp_path) != first
