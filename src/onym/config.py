"""What a person tells the toolkit in a file: frozen and strict, so that a misspelt key is refused and not passed over."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from onym.errors import ConfigError, InputError


class Strict(BaseModel):
    """A configuration or a part of one.

    >>> class Colour(Strict):
    ...     red: int = 0
    >>> Colour.of({"red": 3})
    Colour(red=3)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, values: dict[str, Any], where: str = "", fix: str = "") -> Self:
        """Make a configuration of plain values, refusing unknown keys. `fix` says where the known ones are to be found."""
        try:
            return cls.model_validate(values)
        except ValidationError as e:
            first = e.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            fix = fix or f"known keys are {', '.join(cls.model_fields)}"
            raise ConfigError("config-invalid", f"{key}: {first['msg']}", where=where, fix=fix) from e


def read_toml(path: Path) -> dict[str, Any]:
    """Return the values of a file."""
    try:
        data = path.read_bytes()
    except OSError as e:
        raise InputError("input-missing", "no such configuration", where=str(path), fix="check the path") from e
    return parse_toml(data, str(path))


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    """Return the values of a configuration that was read from `where`.

    >>> parse_toml(b"red = 3", "colour.toml")
    {'red': 3}
    """
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ConfigError("config-invalid", f"not valid TOML: {e}", where=where) from e
