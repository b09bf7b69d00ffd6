"""What a knowledge base is made of: sources in order of precedence, and the decisions of the build. Frozen and strict."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.errors import ConfigError, InputError
from onym.types import NameKind

KindLabel = Literal["preferred", "exact", "abbreviation", "narrow", "broad", "related", "tradename", "suppressed"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceConfig(_Strict):
    """One release. The format is recognised where it is not given; `columns` and `prefix` are for tables."""

    path: str
    format: str = ""
    name: str = ""
    prefix: str = ""
    columns: dict[str, str] = Field(default_factory=dict)


class Recipe(_Strict):
    """How a knowledge base is built. An empty filter lets everything pass.

    >>> Recipe(sources=[SourceConfig(path="hp.obo")]).shared_names
    'keep'
    """

    sources: tuple[SourceConfig, ...] = Field(min_length=1)
    name: str = ""
    languages: tuple[str, ...] = ("en",)
    vocabularies: tuple[str, ...] = ()
    semantic_types: tuple[str, ...] = ()
    drop_kinds: tuple[KindLabel, ...] = ("suppressed", "tradename")
    shared_names: Literal["keep", "fewest"] = "keep"
    merge: bool = True
    replacements: str = ""
    max_name_length: int = Field(default=1024, ge=1, le=65_536)

    @classmethod
    def from_toml(cls, path: Path) -> Recipe:
        """Read a recipe file."""
        try:
            values = tomllib.loads(path.read_text("utf-8"))
        except OSError as e:
            raise InputError("input-missing", "no such recipe", where=str(path), fix="check the path") from e
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
            raise ConfigError("config-invalid", f"not valid TOML: {e}", where=str(path)) from e
        return cls.of(values, where=str(path))

    @classmethod
    def of(cls, values: dict[str, Any], where: str = "") -> Recipe:
        """Make a recipe of plain values, refusing unknown keys."""
        try:
            return cls.model_validate(values)
        except ValidationError as e:
            first = e.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            fix = f"known keys are {', '.join(cls.model_fields)}"
            raise ConfigError("config-invalid", f"{key}: {first['msg']}", where=where, fix=fix) from e

    @property
    def dropped_kinds(self) -> list[int]:
        """The kinds of names that do not enter, as numbers; retired ones never do."""
        return [int(NameKind[label.upper()]) for label in self.drop_kinds] + [int(NameKind.RETIRED)]
