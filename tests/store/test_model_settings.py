"""Tests that the settings in a model's folder are used as defaults, and that an invalid settings file is an error."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field, ValidationError

from onym.errors import InputError, LimitError
from onym.store.models import FolderSettings, read_model_json, read_small


class Colours(FolderSettings):
    FILE: ClassVar[str] = "colours.json"

    red: int = Field(default=1, ge=0)
    name: str = "plain"


def test_round_trip(tmp_path: Path) -> None:
    own = Colours(red=3, name="warm")
    (tmp_path / "colours.json").write_bytes(own.to_bytes())
    assert Colours.read(tmp_path) == own


def test_missing_file_gives_the_defaults(tmp_path: Path) -> None:
    assert Colours.read(tmp_path) == Colours()


def test_update_ignores_none() -> None:
    own = Colours(red=3)
    assert own.update(red=None, name=None) == own
    assert own.update(red=0, name="") == Colours(red=0, name="")
    assert own.update(name="warm") == Colours(red=3, name="warm")
    with pytest.raises(ValidationError):
        own.update(red=-1)


@pytest.mark.parametrize(("text", "key"), [("[]", "the file"), ('{"red": -1}', "red"), ('{"blue": 5}', "blue")])
def test_invalid_file_raises(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / "colours.json").write_text(text)
    with pytest.raises(InputError, match="model-malformed") as caught:
        Colours.read(tmp_path)
    assert caught.value.what.startswith(f"{key}: ")
    assert caught.value.where == str(tmp_path / "colours.json")


def test_a_large_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "large.json").write_bytes(b" " * 4_194_304)
    assert len(read_small(tmp_path / "large.json")) == 4_194_304
    (tmp_path / "large.json").write_bytes(b" " * 4_194_305)
    with pytest.raises(LimitError, match="limit-model"):
        read_small(tmp_path / "large.json")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "[" * 100_000, "{", "\xff"])
def test_rejects_invalid_json_nan_and_infinity(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match="model-malformed"):
        read_model_json(tmp_path / "a.json")


def test_rejects_a_file_outside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text('{"red": 3}')
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "colours.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(InputError, match="model-outside"):
        Colours.read(tmp_path / "model")
