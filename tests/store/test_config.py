"""Tests that unknown configuration keys are rejected, and that errors name the wrong key."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from onym.config import Strict, parse_toml, read_toml
from onym.errors import ConfigError, InputError


class Colour(Strict):
    red: int = 0
    names: tuple[str, ...] = ()


def test_values_and_defaults() -> None:
    assert Colour.of({"names": ["rose"]}) == Colour(red=0, names=("rose",))


def test_configuration_is_frozen() -> None:
    with pytest.raises(ValidationError):
        Colour().red = 1


@pytest.mark.parametrize(("values", "key"), [({"rde": 1}, "rde"), ({"red": "much"}, "red"), ({"names": [1]}, "names.0")])
def test_error_names_the_unknown_key(values: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid") as caught:
        Colour.of(values, where="colour.toml")
    assert caught.value.what.startswith(f"{key}: ")
    assert (caught.value.where, caught.value.fix) == ("colour.toml", "known keys are red, names")


def test_fix_can_be_overridden() -> None:
    with pytest.raises(ConfigError) as caught:
        Colour.of({"rde": 1}, fix="read the page")
    assert caught.value.fix == "read the page"


def test_reads_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "colour.toml"
    path.write_text("red = 3\n")
    assert read_toml(path) == {"red": 3}
    with pytest.raises(InputError, match="input-missing"):
        read_toml(tmp_path / "other.toml")
    with pytest.raises(InputError, match="input-missing"):
        read_toml(tmp_path)


@pytest.mark.parametrize("data", [b"red = ", b"\xff\xfe", b"red = 1\nred = 2"])
def test_rejects_invalid_toml(data: bytes) -> None:
    with pytest.raises(ConfigError, match="not valid TOML") as caught:
        parse_toml(data, "colour.toml")
    assert caught.value.where == "colour.toml"
