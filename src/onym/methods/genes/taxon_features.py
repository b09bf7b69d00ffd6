"""Features of pairs of a mention and a species or cell line.

`TAXON_FEATURES` names the columns. A feature that does not apply is NaN.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onym.methods.genes.names import tight_key
from onym.methods.genes.organisms import PREFIX, Finding, find_organisms, organisms
from onym.methods.genes.taxa import SHORT, TABLE, OrganismNames, TaxonMatch
from onym.methods.trees.memory import KbMemory, Own
from onym.methods.trees.trees import Floats
from onym.text.analysis import analysis_of
from onym.types import Document, Mention

TAXON_FEATURES = {
    "is_cell": "1 if the candidate is a cell line",
    "how": "how the surface matches a name: equal 0 ... a part of it 7",
    "rest": "words (species) or characters (cell lines) that the match leaves over",
    "kind": "kind of the name that matches; 0 is the preferred one",
    "long_how": "as `how`, of the long form that the document defines",
    "how_margin": "difference of `how` to the best candidate",
    "rest_margin": "difference of `rest` to the best candidate",
    "ties": "number of other candidates that match as well",
    "candidates": "number of candidates",
    "recalled": "count of the concept for this key in the memory",
    "recalled_share": "`recalled` divided by the count of the key",
    "key_count": "count of the key in the memory",
    "long_recalled_share": "as `recalled_share`, of the long form",
    "concept_count": "count of the concept in the memory",
    "elsewhere": "number of other keys of the document with an exact match of the concept",
    "spelled_out": "1 if the text has a name of the concept, of which the mention may be a short form",
    "genus_in_text": "1 if the text has the first word of that name",
    "is_frequent": "1 if the species is in the table of frequent organisms",
    "rank": "rank of a taxon: species 0, below 1, genus 2, above 3",
    "number": "log10 of the number of the concept: well-known species have low ones",
    "names": "number of names of the concept",
    "species_share": "share of the cell line's species among the organisms that the document names",
    "species_cues": "share of the cell line's species among the document's hints at organisms",
    "length": "number of characters of the mention",
    "words": "number of words of the mention",
    "digits": "share of digits in the mention",
    "capitals": "share of capital letters in the mention",
}
TAXON_NAMES = tuple(TAXON_FEATURES)
_NOT = math.nan
_RANKS = {"species": 0.0, "genus": 2.0}
_BELOW = frozenset({"subspecies", "strain", "varietas", "forma", "no rank", "serotype", "isolate", "biotype"})
_NUMBER = 36  # Cellosaurus counts with digits and letters


def is_cell_line(mention: Mention) -> bool | None:
    """Return whether a mention is of a cell line, by its type; None if its type says nothing."""
    kind = mention.type.replace(" ", "").lower()
    return True if kind == "cellline" else False if kind in {"species", "organism", "organismtaxon"} else None


@dataclass(frozen=True)
class TaxonMention:
    """A mention, its keys, and the concepts that its surface and its long form may mean."""

    mention: Mention
    key: str
    long_key: str
    matches: Mapping[int, TaxonMatch]
    long_matches: Mapping[int, TaxonMatch]


class TaxonFacts:
    """What the features need to know of species and cell lines, whatever the document."""

    def __init__(self, names: OrganismNames, memory: KbMemory) -> None:
        self.names, self.memory, self.kb = names, memory, names.kb
        self._species_of_cells = _species_of_cells()
        self._frequent = {row for one in organisms() for row in self.kb.resolve(one)}
        self._known: dict[int, tuple[float, float, float, float]] = {}

    def read(self, mention: Mention, long: str) -> TaxonMention:
        """Return what a mention may mean; `long` is its long form, or empty."""
        matches, long_matches = (self._match(mention, text) for text in (mention.surface, long))
        return TaxonMention(mention, tight_key(mention.surface), tight_key(long) if long else "", matches, long_matches)

    def _match(self, mention: Mention, text: str) -> Mapping[int, TaxonMatch]:
        is_cell = is_cell_line(mention)
        cells = self.names.cells(text) if text and is_cell is not False else {}
        return {**(self.names.taxa(text) if text and not is_cell else {}), **cells}

    def of(self, concept: int) -> tuple[float, float, float, float]:
        """Return whether a species is frequent, its rank, the logarithm of its number, and the number of its names."""
        if concept not in self._known:
            number, kb = self.kb.concept_ids[concept].rpartition(":")[2], self.kb
            types = [kb.types[int(each)] for each in kb.concept_types[concept]] if self.names.is_taxon[concept] else []
            rank = min((_RANKS.get(name, 1.0 if name in _BELOW else 3.0) for name in types), default=_NOT)
            value = int(number) if number.isdecimal() else int(number.removeprefix("CVCL_"), _NUMBER) if number.isalnum() else 0
            own = float(concept in self._frequent), rank, math.log10(max(1, value)), float(len(kb.names_of(concept)))
            self._known[concept] = own
        return self._known[concept]

    def species_of(self, concept: int) -> tuple[str, ...]:
        """Return the species of a cell line: those that the knowledge base states, else those of the table of organisms."""
        stated = tuple(name for row in self.kb.concept_types[concept] if (name := self.kb.types[int(row)]).startswith(PREFIX))
        keys = [tight_key(self.kb.names[int(name)]) for name in self.kb.names_of(concept)[:8]]
        return stated or tuple(one for key in keys for one in self._species_of_cells.get(key, ()))


@dataclass(frozen=True)
class TaxonPairs:
    """Computes the features of a document's candidates; `own` has the memory counts that come from the document."""

    document: Document
    facts: TaxonFacts
    own: Own | None = None

    @cached_property
    def mentions(self) -> tuple[TaxonMention, ...]:
        """The mentions with the concepts that they may mean."""
        known = analysis_of(self.document).abbreviations
        return tuple(self.facts.read(each, known.expand(each.surface) or "") for each in self.document.mentions)

    def features(self, row: int) -> tuple[tuple[int, ...], Floats]:
        """Return the candidates of a mention, and a row of features for each."""
        mention, facts = self.mentions[row], self.facts
        recalled, long_recalled = self._recall(mention, mention.key), self._recall(mention, mention.long_key)
        concepts = tuple(dict.fromkeys((*mention.matches, *mention.long_matches, *recalled, *long_recalled)))
        ranks = {concept: self._best(mention, concept) for concept in concepts}
        least = min(ranks.values(), default=(0.0, 0.0))
        surface, counts = mention.mention.surface, self._count_organisms(mention.mention)
        written = [
            float(len(surface)),
            float(len(surface.split())),
            sum(map(str.isdigit, surface)) / len(surface),
            sum(map(str.isupper, surface)) / len(surface),
        ]
        rows = []
        for concept in concepts:
            match, long = mention.matches.get(concept), mention.long_matches.get(concept)
            how, rest = ranks[concept]
            rows.append(
                [
                    float(facts.names.is_cell[concept]),
                    float(match.how) if match else _NOT,
                    float(match.rest) if match else _NOT,
                    float(self._kind(concept, match or long)),
                    float(long.how) if long else _NOT,
                    how - least[0],
                    rest - least[1],
                    float(sum(other == (how, rest) for other in ranks.values()) - 1),
                    float(len(concepts)),
                    float(recalled.get(concept, 0)),
                    recalled.get(concept, 0) / max(1, sum(recalled.values())),
                    float(sum(recalled.values())),
                    long_recalled.get(concept, 0) / max(1, sum(long_recalled.values())),
                    float(facts.memory.totals[concept] - self._own_totals[concept]),
                    float(len(self._exact.get(concept, set()) - {mention.key})),
                    *self._find_spelling(match),
                    *facts.of(concept),
                    *self._species(concept, counts),
                    *written,
                ]
            )
        return concepts, np.array(rows, dtype=np.float64).reshape(len(concepts), len(TAXON_NAMES))

    def _recall(self, mention: TaxonMention, key: str) -> dict[int, int]:
        is_cell, found = is_cell_line(mention.mention), self.facts.memory.recall(key, self.own) if key else {}
        names = self.facts.names
        return {
            concept: count
            for concept, count in found.items()
            if (is_cell is not False and names.is_cell[concept]) or (not is_cell and names.is_taxon[concept])
        }

    def _best(self, mention: TaxonMention, concept: int) -> tuple[float, float]:
        found = [matches[concept] for matches in (mention.matches, mention.long_matches) if concept in matches]
        return min(((float(each.how), float(each.rest)) for each in found), default=(9.0, 0.0))

    def _kind(self, concept: int, match: TaxonMatch | None) -> float:
        kb = self.facts.kb
        return (
            _NOT
            if match is None or match.name not in kb.names_of(concept)
            else float(kb.kind_and_source(concept, match.name)[0])
        )

    def _find_spelling(self, match: TaxonMatch | None) -> tuple[float, float]:
        if match is None or match.how not in (SHORT, TABLE):
            return _NOT, _NOT
        name = self.facts.kb.names[match.name]
        return float(name in self._text), float(f"{name.partition(' ')[0]} " in self._text)

    def _species(self, concept: int, counts: Sequence[Counter[str]]) -> tuple[float, float]:
        own = self.facts.species_of(concept) if self.facts.names.is_cell[concept] else ()
        if not own:
            return _NOT, _NOT
        named, hinted = (sum(each[one] for one in own) / max(1, each.total()) for each in counts)
        return named, hinted

    def _count_organisms(self, mention: Mention) -> tuple[Counter[str], Counter[str]]:
        """Return how often the document names each species outside of a mention, and how often it hints at each."""
        found = [each for each in self._findings if each.end <= mention.start or mention.end <= each.start]
        named, hinted = (Counter(each.species for each in found if each.is_named == is_named) for is_named in (True, False))
        return named, hinted

    @cached_property
    def _text(self) -> str:
        return self.document.text.lower()

    @cached_property
    def _findings(self) -> tuple[Finding, ...]:
        return find_organisms(self.document.text)

    @cached_property
    def _exact(self) -> dict[int, set[str]]:
        """Return the keys of the document that match each concept but for punctuation and plurals."""
        found: dict[int, set[str]] = defaultdict(set)
        for mention in self.mentions:
            for concept, match in mention.matches.items():
                if match.how <= TABLE:
                    found[concept].add(mention.key)
        return found

    @cached_property
    def _own_totals(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for rows in (self.own or {}).values():
            found.update(rows)
        return found


def _species_of_cells() -> Mapping[str, Sequence[str]]:
    """Return the species of the cell lines of the table of organisms, by tight key."""
    found: dict[str, list[str]] = defaultdict(list)
    for organism in organisms().values():
        for name in organism.cells:
            found[tight_key(name)].append(organism.species)
    return found
