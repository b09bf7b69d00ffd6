"""Recipes: the sources of a knowledge base, in order of precedence, and the options of its build."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from onym.config import Strict, read_toml
from onym.kb.curie import to_curie
from onym.kb.groups import GroupLabel
from onym.types import NameKind

NameRule = Literal["first", "either", "both"]
TaxonId = Annotated[str, Field(pattern=r"^[0-9]+$")]
KindLabel = Literal["preferred", "exact", "abbreviation", "narrow", "broad", "related", "tradename", "suppressed"]


_LATER = frozenset({"joins", "groups", "only_groups"})  # recorded only if set, so that recipes without them keep their digest
_LATER_IN_SOURCES = frozenset({"species", "xrefs", "groups", "only_joined", "as_synonyms", "licence"})
_LATER_IN_JOINS = frozenset({"refuse_misnamed", "same_name", "same_groups"})


class SourceConfig(Strict):
    """One release of a terminology. `format` is detected if empty; `columns` and `prefix` are for tables.

    `species` lists the taxon ids (9606) of the species to read from a release of genes; empty means all.
    `xrefs` lists the prefixes of the cross-references to keep (empty means all), and `groups` the semantic groups of all its
    concepts. With `only_joined`, concepts that are in no other source and were not joined with a concept of one are dropped:
    the release only adds names to other concepts. With `as_synonyms`, its preferred names are synonyms. `licence` states the
    licence of a release that Onym does not know; a public pack requires it.
    """

    path: str
    format: str = ""
    name: str = ""
    prefix: str = ""
    columns: dict[str, str] = Field(default_factory=dict)
    species: tuple[TaxonId, ...] = ()
    xrefs: tuple[str, ...] = ()
    groups: tuple[GroupLabel, ...] = ()
    only_joined: bool = False
    as_synonyms: bool = False
    licence: str = ""


class JoinConfig(Strict):
    """How concepts of different vocabularies are joined into one, besides one-to-one cross-references.

    many_to_one       copy: copy the names of a concept whose cross-reference is not one-to-one to each target;
                      apart: do not copy them; with `by_name`, join the concept with the target that has its preferred name
    by_name           vocabulary prefix -> rule. Its concepts are joined with concepts of earlier vocabularies if the preferred
                      name of one is a name of exactly one concept of the other vocabulary. The rule says whose preferred name
                      has to match: that of the earlier vocabulary (first), of either, or of both
    shared_ids        prefixes of third vocabularies, such as cas: concepts with the same id in one of them are joined
    undo              ids of concepts that are never joined
    same_groups       semantic groups that count as one in joins by name: vocabularies disagree on whether a disorder such as
                      scoliosis is a disease or a phenotype
    same_name         prefixes of vocabularies whose cross-references count only between concepts with a name in common
    refuse_misnamed   with `by_name`, refuse any join, also by cross-reference, of a concept whose preferred name is not a name
                      of its partner, but of another concept of the partner's vocabulary: see `find_misnamed`
    """

    many_to_one: Literal["copy", "apart"] = "copy"
    by_name: dict[str, NameRule] = Field(default_factory=dict)
    shared_ids: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    same_groups: tuple[GroupLabel, ...] = ()
    same_name: tuple[str, ...] = ()
    refuse_misnamed: bool = True


class Recipe(Strict):
    """How a knowledge base is built. Empty filters keep everything.

    `only_groups` keeps some semantic groups and their concepts.

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
    only_groups: tuple[GroupLabel, ...] = ()
    replacements: str = ""
    max_name_length: int = Field(default=1024, ge=1, le=65_536)

    @classmethod
    def from_toml(cls, path: Path) -> Recipe:
        """Read a recipe file."""
        return cls.of(read_toml(path), where=str(path))

    def without_joins(self, concept_ids: Sequence[str]) -> Recipe:
        """Return the recipe with further concepts excluded from joins."""
        undo = (*self.joins.undo, *(to_curie(each) for each in concept_ids))
        return self.model_copy(update={"joins": self.joins.model_copy(update={"undo": undo})})

    def record(self) -> dict[str, Any]:
        """Return the recipe as recorded in artefacts; newer keys only if set, so that older recipes keep their digest."""
        record = _dump_used(self, _LATER)
        if "joins" in record:
            record["joins"] = _dump_used(self.joins, _LATER_IN_JOINS)
        return {**record, "sources": [_dump_used(source, _LATER_IN_SOURCES) for source in self.sources]}

    @property
    def kinds_to_drop(self) -> list[int]:
        """The kinds of names to drop, as integers; retired names are always dropped."""
        return [int(NameKind[label.upper()]) for label in self.drop_kinds] + [int(NameKind.RETIRED)]


def _dump_used(config: Strict, later: frozenset[str]) -> dict[str, Any]:
    used = config.model_dump(mode="json", exclude_defaults=True)
    return {key: value for key, value in config.model_dump(mode="json").items() if key not in later or key in used}
