"""The settings in a model's folder: they count where nothing is said, and a broken file is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.linkers.settings import SETTINGS, ModelSettings, read_settings


def test_there_and_back(tmp_path: Path) -> None:
    own = ModelSettings(template="genre", window=64, search="exact", ranking="sum")
    (tmp_path / SETTINGS).write_bytes(own.to_bytes())
    assert read_settings(tmp_path) == own
    assert read_settings(tmp_path) != ModelSettings()


def test_a_folder_without_any(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == ModelSettings(template="genbioel", window=128, search="beam", ranking="mean")


def test_what_is_given_counts_and_nothing_is_not_given() -> None:
    own = ModelSettings(window=64, ranking="sum")
    assert own.changed(window=None, ranking=None, search=None, template=None) == own
    changed = own.changed(window=32, search="exact")
    assert (changed.window, changed.search, changed.ranking) == (32, "exact", "sum")
    assert own.window == 64


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{", "the file"),
        ("[]", "the file"),
        ('{"window": 4}', "window"),
        ('{"search": "wide"}', "search"),
        ('{"beams": 5}', "beams"),
    ],
)
def test_a_broken_file(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / SETTINGS).write_text(text)
    with pytest.raises(InputError, match="model-malformed") as caught:
        read_settings(tmp_path)
    assert caught.value.what.startswith(f"{key}: ")
    assert caught.value.where == str(tmp_path / SETTINGS)
