"""What a knowledge base is made of: sources in order of precedence, and the decisions of the build. Frozen and strict."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from onym.store.config import Strict, read_toml
from onym.types import NameKind

KindLabel = Literal["preferred", "exact", "abbreviation", "narrow", "broad", "related", "tradename", "suppressed"]


class SourceConfig(Strict):
    """One release. The format is recognised where it is not given; `columns` and `prefix` are for tables."""

    path: str
    format: str = ""
    name: str = ""
    prefix: str = ""
    columns: dict[str, str] = Field(default_factory=dict)


class Recipe(Strict):
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
        return cls.of(read_toml(path), where=str(path))

    @property
    def dropped_kinds(self) -> list[int]:
        """The kinds of names that do not enter, as numbers; retired ones never do."""
        return [int(NameKind[label.upper()]) for label in self.drop_kinds] + [int(NameKind.RETIRED)]
