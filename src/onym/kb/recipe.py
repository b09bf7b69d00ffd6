"""What a knowledge base is made of: sources in order of precedence, and the decisions of the build. Frozen and strict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from onym.config import Strict, read_toml
from onym.kb.curie import to_curie
from onym.kb.groups import GroupLabel
from onym.types import NameKind

NameRule = Literal["first", "either", "both"]
KindLabel = Literal["preferred", "exact", "abbreviation", "narrow", "broad", "related", "tradename", "suppressed"]


_LATER = frozenset({"joins", "groups"})  # keys that recipes did not have from the beginning
_LATER_IN_SOURCES = frozenset({"xrefs", "groups", "only_joined", "licence"})


class SourceConfig(Strict):
    """One release. The format is recognised where it is not given; `columns` and `prefix` are for tables.

    `xrefs` are the prefixes of the cross-references that count, by default all; `groups` the semantic groups of all its
    concepts. With `only_joined`, concepts that join no other one stay out: the release lends its names to those of others.
    `licence` states the terms of a release that Onym does not know: without it, no public pack may hold the release.
    """

    path: str
    format: str = ""
    name: str = ""
    prefix: str = ""
    columns: dict[str, str] = Field(default_factory=dict)
    xrefs: tuple[str, ...] = ()
    groups: tuple[GroupLabel, ...] = ()
    only_joined: bool = False
    licence: str = ""


class JoinConfig(Strict):
    """How concepts of several vocabularies become one, beyond one-to-one cross-references.

    many_to_one   copy: the names of a concept whose cross-reference is not one-to-one are copied to each target;
                  apart: it keeps them to itself, or joins the target of which its preferred name is a name, with `by_name`
    by_name       vocabularies, by prefix, whose concepts join those of vocabularies before them by name, and how: the preferred
                  name of one is a name of exactly one concept of the other vocabulary, and that one is of the vocabulary that
                  comes first (first), of either (either), or it holds in both directions (both)
    shared_ids    prefixes of third vocabularies: concepts that refer to the same id of them are joined
    undo          ids that are joined with nothing
    """

    many_to_one: Literal["copy", "apart"] = "copy"
    by_name: dict[str, NameRule] = Field(default_factory=dict)
    shared_ids: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()


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
    joins: JoinConfig = JoinConfig()
    groups: bool = False
    replacements: str = ""
    max_name_length: int = Field(default=1024, ge=1, le=65_536)

    @classmethod
    def from_toml(cls, path: Path) -> Recipe:
        """Read a recipe file."""
        return cls.of(read_toml(path), where=str(path))

    def without_joins(self, concept_ids: Sequence[str]) -> Recipe:
        """Return the recipe with more ids that are joined with nothing."""
        undo = (*self.joins.undo, *(to_curie(each) for each in concept_ids))
        return self.model_copy(update={"joins": self.joins.model_copy(update={"undo": undo})})

    def record(self) -> dict[str, Any]:
        """Return the recipe as an artefact records it, later keys only where they are used: older recipes keep their digest."""
        sources = [_dump_used(source, _LATER_IN_SOURCES) for source in self.sources]
        return {**_dump_used(self, _LATER), "sources": sources}

    @property
    def kinds_to_drop(self) -> list[int]:
        """The kinds of names that do not enter, as numbers; retired ones never do."""
        return [int(NameKind[label.upper()]) for label in self.drop_kinds] + [int(NameKind.RETIRED)]


def _dump_used(config: Strict, later: frozenset[str]) -> dict[str, Any]:
    used = config.model_dump(mode="json", exclude_defaults=True)
    return {key: value for key, value in config.model_dump(mode="json").items() if key not in later or key in used}
