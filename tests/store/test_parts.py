"""What parts share in being configured and opened."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from onym.errors import ConfigError, InputError, IntegrityError
from onym.store.parts import (
    ModelReference,
    OpenContext,
    PartConfig,
    TokenizerReference,
    require_digest,
    require_model,
    written_path,
)


class Inner(PartConfig):
    kind: Literal["inner"] = "inner"
    model: ModelReference | None = None


class Config(PartConfig):
    kind: Literal["demo"] = "demo"
    width: int = Field(default=5, ge=1, description="How wide.")
    is_fast: bool = Field(default=True, description="Whether it is fast.")
    model: ModelReference | None = Field(default=None, description="The model.")
    inner: Inner | None = Field(default=None, description="A part of the part.")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "model" / "tokenizer.json").write_text("{}")
    return tmp_path / "model"


def test_none_is_not_given_and_false_and_zero_are() -> None:
    assert Config.from_options({"width": None, "is_fast": False}) == Config(is_fast=False)
    with pytest.raises(ConfigError, match="config-invalid"):
        Config.from_options({"width": 0})


def test_an_option_of_another_part_is_refused_with_the_parts_own() -> None:
    with pytest.raises(ConfigError, match="beam is not an option of demo") as caught:
        Config.from_options({"beam": 3})
    assert "width, is_fast" in caught.value.fix


def test_kind_is_no_option() -> None:
    assert list(Config.options()) == ["width", "is_fast", "model", "inner"]


def test_references_are_pinned_and_resolved_also_in_parts_of_parts(tmp_path: Path, model: Path) -> None:
    config = Config(model=ModelReference(path=str(model)), inner=Inner(model=ModelReference(path=str(model))))
    pinned = config.with_references(lambda each: each.pinned(tmp_path, OpenContext()))
    assert pinned.model is not None
    assert pinned.inner is not None
    assert pinned.inner.model == pinned.model
    assert pinned.model.path == "model"
    found = pinned.with_references(lambda each: each.resolved(tmp_path))
    assert found.model is not None
    assert found.model.path == str(model)
    (model / "config.json").write_text("[]")
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        pinned.with_references(lambda each: each.resolved(tmp_path))
    with pytest.raises(InputError, match="pipeline-missing"):
        ModelReference(path="elsewhere", digest="ab").resolved(tmp_path)


def test_of_a_tokenizers_folder_the_tokenizer_alone_counts(tmp_path: Path, model: Path) -> None:
    pinned = TokenizerReference(path=str(model)).pinned(tmp_path, OpenContext())
    (model / "config.json").write_text("[]")
    assert pinned.resolved(tmp_path).path == str(model)
    (model / "tokenizer.json").write_text("[]")
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        pinned.resolved(tmp_path)


def test_a_reference_is_written_as_a_path(model: Path) -> None:
    assert ModelReference.model_validate(model).path == str(model)
    assert (ModelReference(path=str(model)).name, ModelReference(path="lab/model").name) == ("model", "lab/model")


def test_a_model_that_is_not_there_is_not_fetched_unless_that_is_allowed() -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        ModelReference(path="lab/model").folder(OpenContext())
    with pytest.raises(ConfigError, match="--encoder"):
        require_model(None, "a part", "--encoder")


def test_a_model_is_opened_once_for_all_parts() -> None:
    opens: list[str] = []
    context = OpenContext()
    for _ in range(2):
        context.shared(("a",), lambda: opens.append("a"))
    context.shared(("b",), lambda: opens.append("b"))
    assert opens == ["a", "b"]


def test_paths_and_digests(tmp_path: Path) -> None:
    assert written_path(tmp_path / "p" / "kb", tmp_path / "p") == "kb"
    assert written_path(tmp_path / "kb", tmp_path / "p") == (tmp_path / "kb").resolve().as_posix()
    require_digest("kb", None, "ab", tmp_path)
    require_digest("kb", "ab", "ab", tmp_path)
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        require_digest("kb", "ab", "cd", tmp_path)
