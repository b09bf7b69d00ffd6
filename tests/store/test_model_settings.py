"""Settings in a model's folder: they count where nothing is said, and a broken file is an error."""

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


def test_there_and_back(tmp_path: Path) -> None:
    own = Colours(red=3, name="warm")
    (tmp_path / "colours.json").write_bytes(own.to_bytes())
    assert Colours.read(tmp_path) == own


def test_a_folder_without_any(tmp_path: Path) -> None:
    assert Colours.read(tmp_path) == Colours()


def test_what_is_passed_counts_and_none_is_not_passed() -> None:
    own = Colours(red=3)
    assert own.update(red=None, name=None) == own
    assert own.update(red=0, name="") == Colours(red=0, name="")
    assert own.update(name="warm") == Colours(red=3, name="warm")
    with pytest.raises(ValidationError):
        own.update(red=-1)


@pytest.mark.parametrize(("text", "key"), [("[]", "the file"), ('{"red": -1}', "red"), ('{"blue": 5}', "blue")])
def test_a_broken_file(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / "colours.json").write_text(text)
    with pytest.raises(InputError, match="model-malformed") as caught:
        Colours.read(tmp_path)
    assert caught.value.what.startswith(f"{key}: ")
    assert caught.value.where == str(tmp_path / "colours.json")


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large.json").write_bytes(b" " * 4_194_304)
    assert len(read_small(tmp_path / "large.json")) == 4_194_304
    (tmp_path / "large.json").write_bytes(b" " * 4_194_305)
    with pytest.raises(LimitError, match="limit-model"):
        read_small(tmp_path / "large.json")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "[" * 100_000, "{", "\xff"])
def test_values_that_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match="model-malformed"):
        read_model_json(tmp_path / "a.json")


def test_a_file_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text('{"red": 3}')
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "colours.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(InputError, match="model-outside"):
        Colours.read(tmp_path / "model")
