"""Finds the species and cell lines that a mention may mean: by name, by shortened genus, and by parts of the mention.

Species are concepts of NCBI Taxonomy, cell lines those of Cellosaurus; other concepts of a knowledge base are no candidates.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.kb.order import iter_prefixes
from onym.kb.ranking import names_of
from onym.methods.genes.keys import NameKeys
from onym.methods.genes.names import tight_key
from onym.methods.genes.organisms import phrases_of_organisms
from onym.text.normal import normal_name
from onym.text.spelling import other_forms
from onym.vocabularies import find_vocabulary

KIND, KEYS_VERSION = "organism-names", 1
_SHORT = "~"  # before keys of names with a shortened genus: ~e coli
_MAX_NAMES = 40  # names with one key, or longer names, that are looked at
_MAX_CONCEPTS = 60  # of a mention
_LEAST_START = 2  # characters with which a longer name of a cell line may begin
_MAX_WORDS = 8  # of a mention, whose parts are looked up
_CACHE_SIZE = 50_000  # surfaces
_BINOMIAL = re.compile(r"([a-z])[a-z]+ (?!sp$|cf$|aff$)([a-z]{3,}(?: [a-z]{3,})?)")
_SHORTENED = re.compile(r"([A-Za-z])[a-z]{0,2}(?:\.\s*|\s+)([a-z]{3,}(?: [a-z]{3,})?)")
_AFTER = re.compile(r"[-\s]+(?:cells?|lines?|cultures?|derived|clones?|fibroblasts|keratinocytes)$", re.IGNORECASE)

Mask = npt.NDArray[np.bool_]

EXACT, FORM, TIGHT, TABLE, SHORT, CUE, LONGER, PART = range(8)
"""How a name matches a mention: equal in normal form; in another form (plural); but for punctuation; in the table of frequent
organisms; with a shortened genus; as a cue of that table, such as *patients*; the name begins with the mention; the name is a
part of the mention."""


class TaxonMatch(NamedTuple):
    """How a concept matches a mention, the words or characters of the mention that are left over, and the row of the name."""

    how: int
    rest: int
    name: int


class OrganismNames:
    """Finds the species or the cell lines that a surface may mean, best match first."""

    def __init__(self, kb: KnowledgeBase, keys: NameKeys) -> None:
        self.kb, self.keys = kb, keys
        self.is_taxon, self.is_cell = (rows_of_group(kb, group) for group in ("Species", "Cell line"))
        self.taxa = lru_cache(_CACHE_SIZE)(self._find_taxa)
        self.cells = lru_cache(_CACHE_SIZE)(self._find_cells)

    @classmethod
    def open(cls, kb: KnowledgeBase) -> OrganismNames:
        """Open the table of a knowledge base; it is built on first use."""
        return cls(kb, NameKeys.open(kb, KIND, KEYS_VERSION, _collect_keys))

    def _find_taxa(self, surface: str) -> dict[int, TaxonMatch]:
        found = self._collect(self._taxa_of(surface), self.is_taxon)
        for part, rest in _parts_of(surface) if not found else ():
            if parts := self._collect(self._taxa_of(part), self.is_taxon):
                return {concept: match._replace(how=PART, rest=rest) for concept, match in parts.items()}
        return found

    def _taxa_of(self, surface: str) -> Iterator[tuple[int, TaxonMatch]]:
        normal = normal_name(surface)
        yield from self._of_names(EXACT, self._find_name(normal))
        yield from self._of_names(FORM, [name for form in other_forms(normal) for name in self._find_name(form)])
        for phrase in dict.fromkeys((normal, normal.removesuffix("s"))):
            for species, is_named in phrases_of_organisms().get(phrase, ()):
                for concept in self.kb.resolve(species):
                    yield concept, TaxonMatch(TABLE if is_named else CUE, 0, int(self.kb.names_of(concept)[0]))
        if short := _SHORTENED.fullmatch(surface.strip()):
            names = self.keys.find(f"{_SHORT}{short[1].lower()} {short[2]}")
            yield from self._of_names(SHORT, names[:_MAX_NAMES])

    def _find_cells(self, surface: str) -> dict[int, TaxonMatch]:
        bare = surface
        while (shorter := _AFTER.sub("", bare)) != bare:
            bare = shorter
        forms = dict.fromkeys((surface, bare, bare.removesuffix("s")))
        found = self._collect((match for form in forms for match in self._cells_of(form)), self.is_cell)
        near = self._collect(self._near_cells(tight_key(bare)), self.is_cell)
        return found | {concept: match for concept, match in near.items() if concept not in found}

    def _cells_of(self, surface: str) -> Iterator[tuple[int, TaxonMatch]]:
        yield from self._of_names(EXACT, self._find_name(normal_name(surface)))
        key = tight_key(surface)
        yield from self._of_names(TIGHT, self.keys.find(key) if key else [])

    def _near_cells(self, key: str) -> Iterator[tuple[int, TaxonMatch]]:
        """Yield the names that begin with a key, and the longest name that the key begins with."""
        if len(key) >= _LEAST_START:
            for name in self.keys.starting_with(key, _MAX_NAMES):
                yield from self._of_names(LONGER, [name], len(tight_key(self.kb.names[name])) - len(key))
        for end in range(len(key) - 1, _LEAST_START, -1):
            if names := self.keys.find(key[:end]):
                yield from self._of_names(PART, names, len(key) - end)
                return

    def _of_names(self, how: int, names: Iterable[int], rest: int = 0) -> Iterator[tuple[int, TaxonMatch]]:
        for name in names:
            for concept in self.kb.name_concepts[name][:_MAX_CONCEPTS].tolist():
                yield concept, TaxonMatch(how, rest, name)

    def _find_name(self, normal: str) -> list[int]:
        row = self.kb.names.find(normal)
        return [row] if row >= 0 else []

    def _collect(self, matches: Iterator[tuple[int, TaxonMatch]], is_wanted: Mask) -> dict[int, TaxonMatch]:
        found: dict[int, TaxonMatch] = {}
        for concept, match in matches:
            if is_wanted[concept] and (concept not in found or match < found[concept]):
                found[concept] = match
        best = sorted(found, key=lambda concept: (found[concept], concept))
        return {concept: found[concept] for concept in best[:_MAX_CONCEPTS]}


def _parts_of(surface: str) -> Iterator[tuple[str, int]]:
    """Yield parts of a surface, longer ones first: without words at its beginning or its end, with the number left out.

    >>> list(_parts_of("young male rats"))
    [('male rats', 1), ('young male', 1), ('rats', 2), ('young', 2)]
    """
    words = surface.split()[:_MAX_WORDS]
    for rest in range(1, len(words)):
        yield " ".join(words[rest:]), rest
        yield " ".join(words[:-rest]), rest


def rows_of_group(kb: KnowledgeBase, group: str) -> Mask:
    """Return a mask of the concepts of the vocabularies of one group, such as NCBI Taxonomy of species."""
    found = np.zeros(len(kb), dtype=bool)
    starts = [*iter_prefixes(kb.concept_ids), ("", len(kb))]
    for (prefix, start), (_, end) in pairwise(starts):
        found[start:end] = find_vocabulary(prefix).groups == (group,)
    return found


def _collect_keys(kb: KnowledgeBase) -> dict[str, list[int]]:
    """Return the names of cell lines by tight key, and the binomials of species by their key with a shortened genus."""
    is_taxon, is_cell = names_of(kb, rows_of_group(kb, "Species")), names_of(kb, rows_of_group(kb, "Cell line"))
    found: dict[str, list[int]] = defaultdict(list)
    for row in np.flatnonzero(is_cell).tolist():
        if key := tight_key(kb.names[row]):
            found[key].append(row)
    for row in np.flatnonzero(is_taxon).tolist():
        if name := _BINOMIAL.fullmatch(kb.names[row]):
            found[f"{_SHORT}{name[1]} {name[2]}"].append(row)
    return found
