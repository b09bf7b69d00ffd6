"""Organisms in texts: their names, strains, cell lines, and words that hint at them without naming them.

`organisms.toml` has the organisms whose genes are studied most. A finding has a strength: names, strains and cell lines name an
organism; cues, such as *patients*, hint at it.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from onym.text.normal import normal_name

FILE = "organisms.toml"
PREFIX = "ncbitaxon:"
_KEYS = ("names", "strains", "cells", "cues")
_NAMED = ("names", "strains", "cells")
_WORD = re.compile(r"[^\W_]+(?:['+][^\W_]+)*\+?")
_MAX_WORDS = 4
_CACHE_SIZE = 512  # texts


class Organism(NamedTuple):
    """One organism of the table; `species` is its id in NCBI Taxonomy."""

    species: str
    names: tuple[str, ...] = ()
    strains: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A place in a text that names an organism, or hints at it. Where a word may mean several organisms, each has a finding."""

    start: int
    end: int
    surface: str
    species: str
    is_named: bool


@cache
def organisms() -> Mapping[str, Organism]:
    """Return the organisms of the table by their ids in NCBI Taxonomy.

    >>> organisms()["ncbitaxon:10090"].names[:2]
    ('mouse', 'mice')
    """
    rows = tomllib.loads(Path(__file__).with_name(FILE).read_text("utf-8"))
    made = (Organism(f"{PREFIX}{taxon}", **{key: tuple(value) for key, value in row.items()}) for taxon, row in rows.items())
    return {each.species: each for each in made}


@lru_cache(_CACHE_SIZE)
def find_organisms(text: str) -> tuple[Finding, ...]:
    """Return where a text names organisms or hints at them, in order; the longest phrase counts.

    >>> [(each.surface, each.species, each.is_named) for each in find_organisms("TNF of the mouse, in patients")]
    [('mouse', 'ncbitaxon:10090', True), ('patients', 'ncbitaxon:9606', False)]
    """
    return tuple(_iter_findings(text))


def _iter_findings(text: str) -> Iterator[Finding]:
    phrases = phrases_of_organisms()
    words = [(found.start(), found.end()) for found in _WORD.finditer(text)]
    forms = [text[start:end].lower() for start, end in words]
    at = 0
    while at < len(words):
        for count in range(min(_MAX_WORDS, len(words) - at), 0, -1):
            if found := _match(phrases, forms[at : at + count]):
                start, end = words[at][0], words[at + count - 1][1]
                if _is_close(text, words[at : at + count]):
                    yield from (Finding(start, end, text[start:end], *each) for each in found)
                    at += count - 1
                    break
        at += 1


def _match(phrases: Mapping[str, tuple[tuple[str, bool], ...]], words: list[str]) -> tuple[tuple[str, bool], ...]:
    phrase = " ".join(words)
    return phrases.get(phrase) or phrases.get(phrase.removesuffix("s"), ()) or phrases.get("".join(words), ())


def _is_close(text: str, words: list[tuple[int, int]]) -> bool:
    """Return whether at most two characters, and no sentence end but that of a shortened genus, are between the words."""
    gaps = [text[one[1] : other[0]] for one, other in pairwise(words)]
    return all(len(gap) <= 2 and not set(gap) & set(",;:()") for gap in gaps)


@cache
def phrases_of_organisms() -> Mapping[str, tuple[tuple[str, bool], ...]]:
    """Return the organisms of each phrase, and whether the phrase names them; cell lines also without spaces."""
    found: dict[str, dict[str, bool]] = defaultdict(dict)
    for organism in organisms().values():
        for key in _KEYS:
            for phrase in getattr(organism, key):
                normal = normal_name(phrase)
                for form in {normal, normal.replace(" ", "")} if key == "cells" else {normal}:
                    found[form][organism.species] = found[form].get(organism.species, False) or key in _NAMED
    return {phrase: tuple(species.items()) for phrase, species in found.items()}


@cache
def prefixes() -> Mapping[str, tuple[str, ...]]:
    """Return the organisms of each prefix of a gene symbol.

    >>> prefixes()["h"]
    ('ncbitaxon:9606',)
    """
    found: dict[str, list[str]] = defaultdict(list)
    for organism in organisms().values():
        for prefix in organism.prefixes:
            found[prefix].append(organism.species)
    return {prefix: tuple(species) for prefix, species in found.items()}


def find_species(text: str) -> str:
    """Return the id of a species in NCBI Taxonomy, given its name, its taxon id or its full id; "" if it is unknown.

    >>> find_species("Mouse"), find_species("9606"), find_species("ncbitaxon:9913"), find_species("dragon")
    ('ncbitaxon:10090', 'ncbitaxon:9606', 'ncbitaxon:9913', '')
    """
    word = text.strip().lower()
    if word.removeprefix(PREFIX).isdecimal():
        return f"{PREFIX}{word.removeprefix(PREFIX)}"
    return next((each.species for each in organisms().values() if word in each.names), "")
