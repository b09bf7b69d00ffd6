"""Base class for configuration files: immutable, and strict, so that a misspelt key is an error instead of being ignored."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from onym.errors import ConfigError, InputError

_LONG_KEY = re.compile(rb"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){64}""")  # `a.a.a...`: tomllib takes quadratic time


class Strict(BaseModel):
    """Base class of a configuration or of one of its sections.

    >>> class Colour(Strict):
    ...     red: int = 0
    >>> Colour.of({"red": 3})
    Colour(red=3)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, values: dict[str, Any], where: str = "", fix: str = "") -> Self:
        """Build a configuration from a dict, rejecting unknown keys. By default, the error's fix lists the known keys."""
        try:
            return cls.model_validate(values)
        except ValidationError as e:
            first = e.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            fix = fix or f"known keys are {', '.join(cls.model_fields)}"
            raise ConfigError("config-invalid", f"{key}: {first['msg']}", where=where, fix=fix) from e


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file."""
    try:
        data = path.read_bytes()
    except OSError as e:
        raise InputError("input-missing", "configuration file not found", where=str(path), fix="check the path") from e
    return parse_toml(data, str(path))


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    """Parse TOML that was read from `where`, which error messages name.

    >>> parse_toml(b"red = 3", "colour.toml")
    {'red': 3}
    """
    try:
        if _LONG_KEY.search(data):
            raise ValueError("a key has too many parts")
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as e:  # also for integers of thousands of digits
        raise ConfigError("config-invalid", f"not valid TOML: {e}", where=where) from e
