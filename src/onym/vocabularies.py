"""Facts about vocabularies (MeSH, UMLS, ...). Each is a table of `vocabularies.toml`, which is loaded on first use.

The header of that file documents the keys. Ids, groups, downloads, corpora, packs, FHIR and OMOP use these facts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

FILE = "vocabularies.toml"
_DATED = re.compile(r"_[0-9]{4}_[0-9]{2}_[0-9]{2}$")  # the date suffix of a prefix, such as SNOMEDCT_US_2023_03_01 in DOID

Redistribution = Literal["", "no", "unaltered", "yes"]
FhirVersion = Literal["R4B", "R5"]
"""FHIR releases for which a ConceptMap can be written; R4 and R4B have the same ConceptMap."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The facts about one vocabulary. If `redistribution` is empty, its licence terms are unknown."""

    prefix: str
    title: str
    full_title: str = ""
    aliases: tuple[str, ...] = ()
    address: str = ""
    pattern: str = ""
    typed_patterns: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    fhir: str = ""
    omop: str = ""
    prefix_in_codes: bool = False
    download_name: str = ""
    download: tuple[str, ...] = ()
    how: str = ""
    licence: str = ""
    pack_licence: str = ""
    redistribution: Redistribution = ""
    marks: tuple[str, ...] = ()

    @property
    def is_restricted(self) -> bool:
        """True if only private packs may contain names of the vocabulary."""
        return self.redistribution == "no"

    def is_meant(self, text: str) -> bool:
        """Return whether a lower-case file name or description refers to this vocabulary.

        >>> find_vocabulary("hp").is_meant("hp-2026.obo"), find_vocabulary("hp").is_meant("php.tsv")
        (True, False)
        """
        words = (re.escape(self.prefix), re.escape(self.title.lower()), *self.marks)
        return any(re.search(f"(?<![a-z]){word}(?![a-z])", text) for word in words)


@cache
def vocabularies() -> Mapping[str, Vocabulary]:
    """Return all vocabularies by prefix, in file order."""
    rows = tomllib.loads(Path(__file__).with_name(FILE).read_text("utf-8"))
    return MappingProxyType({prefix: _row(prefix, values) for prefix, values in rows.items()})


def _row(prefix: str, values: dict[str, Any]) -> Vocabulary:
    frozen: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Vocabulary(prefix, **frozen)


def find_vocabulary(prefix: str) -> Vocabulary:
    """Return the vocabulary with a canonical prefix. For an unknown prefix, all its other fields are empty.

    >>> find_vocabulary("mesh").omop, find_vocabulary("ward").omop
    ('MeSH', '')
    """
    return vocabularies().get(prefix) or Vocabulary(prefix, prefix)


def canonical_prefix(prefix: str) -> str:
    """Return the bioregistry prefix for a prefix or alias. An unknown prefix is returned in lower case.

    >>> canonical_prefix("SNOMEDCT_US"), canonical_prefix("SNOMEDCT_US_2023_03_01"), canonical_prefix("MONDO")
    ('snomedct', 'snomedct', 'mondo')
    """
    lower = _DATED.sub("", prefix.strip().lower())
    return prefix_aliases().get(lower, lower)


@cache
def prefix_aliases() -> Mapping[str, str]:
    """Return a map from the prefixes that sources use to canonical prefixes."""
    return MappingProxyType({alias: each.prefix for each in vocabularies().values() for alias in each.aliases})


def prefix_by_shape(local: str, group: str = "") -> str:
    """Guess the prefix of an id that has none, from the id's pattern and the concept's semantic group; "" if unknown.

    >>> prefix_by_shape("C0011860"), prefix_by_shape("7157", "Gene"), prefix_by_shape("7157")
    ('umls', 'ncbigene', '')
    """
    shapes = _shapes()
    return next((prefix for kind in ("", group) for shape, prefix in shapes.get(kind, ()) if shape.fullmatch(local)), "")


@cache
def _shapes() -> Mapping[str, list[tuple[re.Pattern[str], str]]]:
    """Return (id pattern, prefix) pairs by semantic group; patterns that are unambiguous without a group have the key ""."""
    found: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for each in vocabularies().values():
        own = {"": each.pattern} if each.pattern else {}
        for group, pattern in {**own, **each.typed_patterns}.items():
            found.setdefault(group, []).append((re.compile(pattern), each.prefix))
    return found


@cache
def downloads() -> Mapping[str, Vocabulary]:
    """Return the vocabularies that have download URLs or instructions, by their name on the command line.

    The tests have no network access, so they do not check that the URLs still work.

    >>> list(downloads())
    ['mesh', 'mondo', 'hpo', 'umls', 'snomed']
    """
    known = (each for each in vocabularies().values() if each.download or each.how)
    return MappingProxyType({each.download_name or each.prefix: each for each in known})
