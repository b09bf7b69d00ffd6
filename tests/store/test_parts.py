"""Tests of component configurations: options, model references and shared models."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from onym.errors import ConfigError, InputError, IntegrityError
from onym.parts import ModelReference, OpenContext, PartConfig, TokenizerReference, relative_path, require_digest, require_model
from onym.store.models import folder_digest


class Inner(PartConfig):
    kind: Literal["inner"] = "inner"
    model: ModelReference | None = None


class Outer(PartConfig):
    kind: Literal["outer"] = "outer"
    model: ModelReference | None = None
    tokenizer: TokenizerReference | None = None
    inner: Inner | None = None
    width: int = Field(default=5, ge=0)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    return folder


def test_a_model_is_loaded_once_for_each_key() -> None:
    loaded: list[str] = []

    def open_model() -> list[str]:
        loaded.append("x")
        return loaded

    context = OpenContext()
    assert context.open_once(("a", "fp32"), open_model) is context.open_once(("a", "fp32"), open_model)
    assert loaded == ["x"]
    context.open_once(("a", "bf16"), open_model)
    OpenContext().open_once(("a", "fp32"), open_model)
    assert len(loaded) == 3


def test_options_are_all_fields_except_kind() -> None:
    assert list(Outer.options()) == ["model", "tokenizer", "inner", "width"]


def test_none_means_not_set_but_zero_does_not() -> None:
    assert Outer.from_options({"width": None, "model": None, "colour": None}) == Outer()
    assert Outer.from_options({"width": 0}).width == 0
    with pytest.raises(ConfigError, match="config-invalid"):
        Outer.from_options({"width": -1})
    with pytest.raises(ConfigError, match="colour is not an option of outer") as caught:
        Outer.from_options({"colour": ""})
    assert caught.value.fix == "outer has model, tokenizer, inner, width"


def test_reference_can_be_given_as_a_path() -> None:
    assert Outer.of({"model": "lab/tiny"}).model == ModelReference(path="lab/tiny")
    assert Outer.of({"model": Path("tiny")}).model == ModelReference(path="tiny")
    assert Outer.of({"model": {"path": "a", "digest": "b"}}).model == ModelReference(path="a", digest="b")
    with pytest.raises(ConfigError, match="config-invalid"):
        Outer.of({"model": 5})


def test_changes_references_in_nested_parts_too() -> None:
    config = Outer.of({"model": "a", "tokenizer": "t", "inner": {"model": "b"}, "width": 3})

    def change(reference: ModelReference) -> ModelReference:
        return reference.model_copy(update={"digest": reference.path * 2})

    changed = config.with_references(change)
    assert changed.model == ModelReference(path="a", digest="aa")
    assert changed.tokenizer == TokenizerReference(path="t", digest="tt")
    assert changed.inner == Inner(model=ModelReference(path="b", digest="bb"))
    assert changed.width == 3
    assert config.model == ModelReference(path="a")
    assert Outer().with_references(change) == Outer()


def test_pinned_reference_resolves_until_the_model_changes(tmp_path: Path, model: Path) -> None:
    pinned = ModelReference(path=str(model)).pin(tmp_path, OpenContext())
    assert (pinned.path, bool(pinned.digest)) == ("models/tiny", True)
    assert pinned.resolve(tmp_path).path == str(model)
    (model / "config.json").write_text('{"a": 1}')
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        pinned.resolve(tmp_path)
    with pytest.raises(InputError, match="pipeline-missing"):
        pinned.resolve(tmp_path / "elsewhere")


def test_accepts_digests_that_include_markdown_files(tmp_path: Path, model: Path) -> None:
    (model / "README.md").write_text("A model.")
    pinned = ModelReference(path=str(model)).pin(tmp_path, OpenContext())
    earlier = pinned.model_copy(update={"digest": folder_digest(model, with_pages=True)})
    assert pinned.digest != earlier.digest
    assert earlier.resolve(tmp_path).path == pinned.resolve(tmp_path).path == str(model)
    (model / "README.md").write_text("Another page.")
    assert pinned.resolve(tmp_path).path == str(model)
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        earlier.resolve(tmp_path)


def test_tokenizer_digest_covers_only_the_tokenizer(tmp_path: Path, model: Path) -> None:
    pinned = TokenizerReference(path=str(model)).pin(tmp_path, OpenContext())
    (model / "config.json").write_text('{"a": 1}')
    assert pinned.resolve(tmp_path).path == str(model)
    (model / "tokenizer.json").write_text('{"a": 1}')
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        pinned.resolve(tmp_path)


def test_fetches_a_model_by_name_only_if_download_is_set(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Any] = []

    def fetch(*call: Any) -> Path:
        fetched.append(call)
        return model

    monkeypatch.setattr("onym.store.models.fetch_model", fetch)
    reference = ModelReference(path="lab/tiny")
    with pytest.raises(ConfigError, match="model-missing"):
        reference.folder(OpenContext())
    assert fetched == []
    assert reference.folder(OpenContext(download=True)) == model
    assert len(fetched) == 1
    assert (reference.name, ModelReference(path=str(model)).name) == ("lab/tiny", "tiny")


def test_paths_inside_the_pipeline_folder_are_relative(tmp_path: Path) -> None:
    assert relative_path(tmp_path / "p" / "kb", tmp_path / "p") == "kb"
    assert relative_path(tmp_path / "kb", tmp_path / "p") == (tmp_path / "kb").resolve().as_posix()
    assert relative_path(tmp_path / "p2" / "kb", tmp_path / "p") == (tmp_path / "p2" / "kb").resolve().as_posix()


def test_missing_digest_is_not_checked(tmp_path: Path) -> None:
    require_digest("kb", None, "ab", tmp_path)
    require_digest("kb", "ab", "ab", tmp_path)
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        require_digest("kb", "cd", "ab", tmp_path)


def test_missing_required_model_raises() -> None:
    reference = ModelReference(path="a")
    assert require_model(reference, "a dense linker") is reference
    with pytest.raises(ConfigError, match="a dense linker needs a model") as caught:
        require_model(None, "a dense linker", "--encoder")
    assert caught.value.code == "model-missing"
    assert "--encoder" in caught.value.fix
