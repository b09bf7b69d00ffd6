"""The gene names of a knowledge base by key, and the facts about its genes that candidates need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.kb.order import iter_prefixes
from onym.kb.ranking import names_of as select_names
from onym.kb.search import open_similarity
from onym.methods.genes.keys import NameKeys
from onym.methods.genes.names import KEYS_VERSION, Variant, loose_key, name_parts, tight_key, variants
from onym.methods.genes.organisms import PREFIX
from onym.text.normal import normal_name
from onym.vocabularies import find_vocabulary

KIND = "gene-names"
NO_SPECIES = -1
_LOOSE, _PART = "~", "^"  # before loose keys and keys of parts of names, in the table of keys
_SHARED = 8  # names with the same part; a part of more names is not a name
_SYMBOLS = 8  # symbols per mention whose homologs are candidates
_MANY = 20  # genes with a symbol; more are no homologs
_SIMILAR_NAMES, _LEAST = 25, 0.55  # names by TF-IDF, and their least similarity
_MAX_GENES = 300  # of a mention; names of more genes say nothing
_LAST_STEP = 3  # variants that are further from the surface are used only if there is no other match
_CACHE_SIZE = 50_000  # surfaces

FORM, NAME, TIGHT, LOOSE, PART, HOMOLOG, SIMILAR = range(7)
"""How a gene's name matches a text: as written, in normal form, by tight key, by loose key, in part; or because a gene with the
same symbol in another species matches; or by TF-IDF similarity."""


class Match(NamedTuple):
    """How a gene matches a mention: steps of the variant, how (FORM ... SIMILAR), kind and row of the name, affix."""

    steps: int
    how: int
    kind: int
    name: int
    affix: str = ""
    similarity: float = 1.0


class GeneNames:
    """Finds the genes that a mention may mean, of all species.

    `species` has the row in `species_ids` of each concept, and `NO_SPECIES` for concepts that are no genes.
    """

    def __init__(self, kb: KnowledgeBase, keys: NameKeys) -> None:
        self.kb, self.keys = kb, keys
        self.species_ids, self.species = _species_of(kb)
        self._similarity = open_similarity(kb, only=self.species != NO_SPECIES)
        self._starts, self._terms, self._kinds = (np.array(each) for each in (kb.concept_terms, kb.term_names, kb.term_kinds))
        self.of = lru_cache(_CACHE_SIZE)(self._find)
        self.symbol_of = lru_cache(_CACHE_SIZE)(lambda concept: tight_key(kb.preferred_form(concept)))
        self.with_symbol = lru_cache(_CACHE_SIZE)(self._find_symbol)

    @classmethod
    def open(cls, kb: KnowledgeBase) -> GeneNames:
        """Open the table of a knowledge base; it is built on first use."""
        return cls(kb, NameKeys.open(kb, KIND, KEYS_VERSION, _collect_keys))

    def species_of(self, gene: int) -> str:
        """Return the species of a gene, as an id of NCBI Taxonomy."""
        return self.species_ids[int(self.species[gene])]

    def _find(self, surface: str) -> dict[int, Match]:
        """Return the genes that a surface may mean, best match first; similar names are used only if no other matches."""
        found: dict[int, Match] = {}
        for variant in variants(surface):
            if variant.steps > _LAST_STEP and found:
                break
            for concept, match in self._matches(variant):
                if concept not in found or match < found[concept]:
                    found[concept] = match
        if not found or min(found.values()).how >= PART:
            found = dict(self._similar(surface)) | found
        best = sorted(found, key=lambda concept: (found[concept], concept))
        best += self._homologs(best, found)
        return {concept: found[concept] for concept in best[:_MAX_GENES]}

    def _matches(self, variant: Variant) -> Iterator[tuple[int, Match]]:
        text = variant.text
        normal, tight, loose = normal_name(text), tight_key(text), loose_key(text)
        names = dict.fromkeys(self.keys.find(tight) if tight else [], TIGHT)
        for key in (f"{_LOOSE}{loose}", loose) if loose else ():
            names = dict.fromkeys(self.keys.find(key), LOOSE) | names
        if tight and variant.steps < 2:
            names = dict.fromkeys(self.keys.find(f"{_PART}{tight}"), PART) | names
        for name, by_key in names.items():
            how = NAME if self.kb.names[name] == normal else by_key
            for concept in self._genes_of_name(name):
                kind, form = self._term(concept, name)
                yield concept, Match(variant.steps, FORM if form == text else how, kind, name, variant.affix)

    def _genes_of_name(self, name: int) -> list[int]:
        return [concept for concept in self.kb.name_concepts[name][:_MAX_GENES].tolist() if self.species[concept] != NO_SPECIES]

    def _similar(self, surface: str) -> Iterator[tuple[int, Match]]:
        [(rows, scores)] = self._similarity.top([normal_name(surface)], _SIMILAR_NAMES)
        for name, score in sorted(zip(rows.tolist(), scores.tolist(), strict=True), key=lambda each: each[1]):
            if score >= _LEAST:
                for concept in self._genes_of_name(name)[:_MANY]:
                    yield concept, Match(_LAST_STEP, SIMILAR, self._term(concept, name)[0], name, "", round(score, 3))

    def _homologs(self, best: Sequence[int], found: dict[int, Match]) -> list[int]:
        """Add the genes of other species with the symbols of the best genes to `found`, and return them."""
        added: list[int] = []
        symbols = list(dict.fromkeys(self.symbol_of(concept) for concept in best[: 4 * _SYMBOLS]))[:_SYMBOLS]
        first = {self.symbol_of(concept): concept for concept in reversed(best)}
        for symbol in symbols:
            genes = self.with_symbol(symbol)
            match = found[first[symbol]]
            for concept in genes if len(genes) <= _MANY else ():
                if concept not in found:
                    found[concept] = match._replace(how=HOMOLOG, similarity=float(match.how))
                    added.append(concept)
        return added

    def _find_symbol(self, symbol: str) -> tuple[int, ...]:
        """Return the genes whose symbol has a tight key."""
        found = (concept for name in self.keys.find(symbol) for concept in self._genes_of_name(name))
        return tuple(dict.fromkeys(concept for concept in found if self.symbol_of(concept) == symbol)) if symbol else ()

    def _term(self, concept: int, name: int) -> tuple[int, str]:
        start, end = int(self._starts[concept]), int(self._starts[concept + 1])
        term = start + self._terms[start:end].tolist().index(name)
        return int(self._kinds[term]), self.kb.term_forms[term]


def _species_of(kb: KnowledgeBase) -> tuple[tuple[str, ...], npt.NDArray[np.int16]]:
    """Return the species of all genes, and the row of the species of each concept; a gene with several has the first.

    Concepts that are no genes, such as cell lines, have none.
    """
    is_species = np.array([name.startswith(PREFIX) for name in kb.types], dtype=bool)
    ids = tuple(name for name in kb.types if name.startswith(PREFIX))
    row_of = np.where(is_species, np.cumsum(is_species) - 1, NO_SPECIES)
    owners, values = kb.concept_types.owners(), row_of[kb.concept_types.values.astype(np.int64)]
    known = values != NO_SPECIES
    found = np.full(len(kb), NO_SPECIES, dtype=np.int16)
    found[owners[known][::-1]] = values[known][::-1]
    starts = [*iter_prefixes(kb.concept_ids), ("", len(kb))]
    for (prefix, start), (_, end) in pairwise(starts):
        if "Gene" not in find_vocabulary(prefix).groups:
            found[start:end] = NO_SPECIES
    used = np.unique(found[found != NO_SPECIES])
    rows = np.full(len(ids) + 1, NO_SPECIES, dtype=np.int16)  # the last row is that of NO_SPECIES
    rows[used] = np.arange(len(used))
    return tuple(ids[row] for row in used.tolist()), rows[found]


def _collect_keys(kb: KnowledgeBase) -> dict[str, list[int]]:
    names_of: dict[str, list[int]] = defaultdict(list)
    is_gene = select_names(kb, _species_of(kb)[1] != NO_SPECIES)
    for row in np.flatnonzero(is_gene).tolist():
        tight, loose = tight_key(kb.names[row]), loose_key(kb.names[row])
        if tight:
            names_of[tight].append(row)
        if loose and loose != tight:
            names_of[f"{_LOOSE}{loose}"].append(row)
    for key, rows in _parts_of(kb, is_gene).items():
        if key not in names_of and len(rows) <= _SHARED:
            names_of[f"{_PART}{key}"] = sorted(rows)
    return names_of


def _parts_of(kb: KnowledgeBase, is_gene: npt.NDArray[np.bool_]) -> dict[str, set[int]]:
    """Return the names by the tight keys of their parts."""
    found: dict[str, set[int]] = defaultdict(set)
    for form, name in zip(kb.term_forms, kb.term_names.tolist(), strict=True):
        if is_gene[name] and (", " in form or " (" in form):
            for part in name_parts(form):
                found[tight_key(part)].add(name)
    return found
