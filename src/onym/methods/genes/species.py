"""Features of pairs of a gene mention and a species: what in the text, and in the mention itself, speaks for the species.

Trees turn them into probabilities. `SPECIES_FEATURES` names the columns. A feature that does not apply is NaN.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onym.methods.genes.index import FORM, GeneNames, Match
from onym.methods.genes.names import variants
from onym.methods.genes.organisms import Finding, organisms, prefixes
from onym.methods.genes.reading import GeneMention, GeneReading
from onym.methods.trees.trees import Floats

HUMAN = "ncbitaxon:9606"
_FREQUENT = tuple(f"ncbitaxon:{taxon}" for taxon in (9606, 10090, 10116, 7227, 6239, 3702, 7955, 4896, 559292))
_COMMON = _FREQUENT[:3]  # candidates even if the text does not name them
_BESIDE = 2  # characters between an adjective and the gene it stands before

SPECIES_FEATURES = {
    "affix": "1 if a prefix of the symbol means the species (hTNF); -1 if it means another one",
    "affix_gene": "1 if the symbol without that prefix is a gene of the species",
    "level": "how near the best matching gene of the species is to the mention; 0 is the same name",
    "kind": "kind of the name of that gene; 0 is its symbol",
    "level_margin": "difference of `level` to the best of all species",
    "gene_share": "share of the species among the genes that match best",
    "gene_species": "number of species with a matching gene",
    "beside": "1 if a name of the species stands right before the mention, 0.5 right after",
    "inside": "1 if the mention itself contains a name of the species",
    "left": "characters to the nearest name of the species before the mention, in its sentence",
    "right": "characters to the nearest name of the species after the mention, in its sentence",
    "is_nearest_left": "1 if no name of another species is nearer on the left, in the sentence",
    "is_nearest": "1 if no name of another species is nearer, in the sentence",
    "in_sentence": "number of names of the species in the sentence",
    "cues_in_sentence": "number of cues of the species in the sentence",
    "in_title": "number of names of the species in the title",
    "in_document": "number of names of the species in the document",
    "cues_in_document": "number of cues of the species in the document",
    "share": "share of the species among all names of species in the document",
    "rank": "number of species that the document names more often",
    "is_last": "1 if the last name of a species before the mention is this species",
    "is_first": "1 if the first name of a species in the document is this species",
    "named_species": "number of species that the document names",
    "beside_elsewhere": "number of mentions with the same key that have a name of the species beside or inside them",
    "affix_elsewhere": "number of mentions in the document whose prefix means the species",
    "symbols_as_written": "share of the document's keys that are a symbol of the species as written",
    "genes_named": "share of the document's keys that are a name of a gene of the species",
    "symbols_margin": "difference of `symbols_as_written` to the best species",
    "named_margin": "difference of `genes_named` to the best species",
    "written": "how the mention is written: capitals 0, title case 1, lower case 2, mixed 3",
    "titled": "share of the document's mentions in title case",
    "capitals": "share of the document's mentions in capitals",
    "species": "the species as a number: human 0, mouse 1, rat 2, ...; 9 for rarer ones",
}
SPECIES_NAMES = tuple(SPECIES_FEATURES)
_NOT = math.nan
_NEAR = 4  # levels of the same name, but for spelling


@dataclass(frozen=True)
class SpeciesEvidence:
    """The evidence for species in one document, computed once for all its mentions."""

    reading: GeneReading
    names: GeneNames

    def candidates(self, mention: GeneMention) -> list[str]:
        """Return the species that a mention may belong to: those that the text names, and those of matching genes.

        Rarer species that the text does not name are left out if a frequent species has a gene that matches as well.
        """
        levels = {one: level(match) for one, match in self.best_matches(mention).items()}
        least = min((levels[one] for one in _COMMON if one in levels), default=math.inf)
        known = (*self.reading.namings, *_COMMON)
        rare = [one for one, own in levels.items() if one not in known and own < least]
        return list(dict.fromkeys([*(one for one in levels if one in known), *rare, *self.reading.namings, HUMAN]))

    def features(self, mention: GeneMention) -> tuple[list[str], Floats]:
        """Return the candidate species of a mention, and a row of features for each."""
        species, nearest, best = self.candidates(mention), self._distances(mention), self.best_matches(mention)
        levels = {each: level(match) for each, match in best.items()}
        top = min(levels.values(), default=0.0)
        share = Counter(self.names.species_of(gene) for gene, match in mention.genes.items() if level(match) == top)
        affix = _affix_species(mention.mention.surface)
        rows = []
        for one in species:
            match = best.get(one)
            rows.append(
                [
                    0.0 if not affix else 1.0 if one in affix else -1.0,
                    float(bool(match and match.affix and one in prefixes().get(match.affix.lower(), ()))),
                    levels.get(one, _NOT),
                    match.kind if match else _NOT,
                    levels[one] - top if one in levels else _NOT,
                    share[one] / max(1, share.total()),
                    len(levels),
                    *self._near(mention, one, nearest),
                    *self._in_document(mention, one),
                    self.beside[mention.key, one],
                    self.affixes[one],
                    *self._shares(one),
                    _letter_case(mention.mention.surface),
                    *self._styles,
                    _FREQUENT.index(one) if one in _FREQUENT else len(_FREQUENT),
                ]
            )
        return species, np.array(rows, dtype=np.float64).reshape(len(species), len(SPECIES_NAMES))

    def best_matches(self, mention: GeneMention) -> dict[str, Match]:
        """Return the best match of each species."""
        found: dict[str, Match] = {}
        for genes in (mention.genes, mention.long_genes):
            for gene, match in genes.items():
                one = self.names.species_of(gene)
                if one not in found or level(match) < level(found[one]):
                    found[one] = match
        return found

    def _distances(self, mention: GeneMention) -> dict[str, tuple[float, float]]:
        """Return the characters to the nearest name of each species in the sentence, to the left and to the right."""
        start, end = mention.mention.start, mention.mention.end
        found: dict[str, tuple[float, float]] = {}
        for finding in self._by_sentence.get(mention.sentence, ()):
            left, right = found.get(finding.species, (_NOT, _NOT))
            if finding.start < start:
                left = _least(left, max(0, start - finding.end))
            else:
                right = _least(right, max(0, finding.start - end))
            found[finding.species] = left, right
        return found

    def _near(self, mention: GeneMention, species: str, nearest: Mapping[str, tuple[float, float]]) -> list[float]:
        left, right = nearest.get(species, (_NOT, _NOT))
        lefts = [each for each, _ in nearest.values() if not math.isnan(each)]
        both = [each for pair in nearest.values() for each in pair if not math.isnan(each)]
        own = [each for each in (left, right) if not math.isnan(each)]
        inside = any(_is_inside(each, mention) for each in self.reading.namings.get(species, ()))
        return [
            1.0 if left <= _BESIDE else 0.5 if right <= _BESIDE else 0.0,
            float(inside),
            left,
            right,
            float(not math.isnan(left) and left <= min(lefts)),
            float(bool(own) and min(own) <= min(both)),
            float(sum(each.species == species for each in self._by_sentence.get(mention.sentence, ()))),
            float(sum(self._sentence[each] == mention.sentence for each in self.reading.cues.get(species, ()))),
        ]

    def _in_document(self, mention: GeneMention, species: str) -> list[float]:
        named = self.reading.namings.get(species, ())
        counts = self._counts
        first, last = self._in_order[:1], [each for each in self._in_order if each.start < mention.mention.start][-1:]
        return [
            float(sum(each.end <= self.reading.title_end for each in named)),
            float(len(named)),
            float(len(self.reading.cues.get(species, ()))),
            len(named) / max(1, counts.total()),
            float(sum(count > len(named) for count in counts.values())),
            float(any(each.species == species for each in last)),
            float(any(each.species == species for each in first)),
            float(len(counts)),
        ]

    def _shares(self, species: str) -> list[float]:
        symbols, names = self._name_shares
        return [
            symbols.get(species, 0.0),
            names.get(species, 0.0),
            max(symbols.values(), default=0.0) - symbols.get(species, 0.0),
            max(names.values(), default=0.0) - names.get(species, 0.0),
        ]

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter({species: len(found) for species, found in self.reading.namings.items()})

    @cached_property
    def _in_order(self) -> list[Finding]:
        return [finding for finding in self.reading.findings if finding.is_named]

    @cached_property
    def _sentence(self) -> Mapping[Finding, int]:
        return {finding: self.reading.sentence_of(finding) for finding in self.reading.findings}

    @cached_property
    def _by_sentence(self) -> Mapping[int, list[Finding]]:
        found: dict[int, list[Finding]] = {}
        for finding in self._in_order:
            found.setdefault(self._sentence[finding], []).append(finding)
        return found

    @cached_property
    def beside(self) -> Counter[tuple[str, str]]:
        """The number of mentions with a key that have a name of a species right before or inside them."""
        found: Counter[tuple[str, str]] = Counter()
        for mention in self.reading.mentions:
            start = mention.mention.start
            for finding in self._by_sentence.get(mention.sentence, ()):
                if 0 <= start - finding.end <= _BESIDE or _is_inside(finding, mention):
                    found[mention.key, finding.species] += 1
        return found

    @cached_property
    def affixes(self) -> Counter[str]:
        """The number of mentions whose prefix means a species and whose rest is one of its genes."""
        found: Counter[str] = Counter()
        for mention in self.reading.mentions:
            for species, match in self.best_matches(mention).items():
                if match.affix and species in prefixes().get(match.affix.lower(), ()):
                    found[species] += 1
        return found

    @cached_property
    def _name_shares(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Return, by species, the share of keys that are a symbol as written, and that are the name of a gene."""
        symbols: defaultdict[str, float] = defaultdict(float)
        names: defaultdict[str, float] = defaultdict(float)
        one_of = {mention.key: mention for mention in self.reading.mentions}
        for mention in one_of.values():
            for species, match in self.best_matches(mention).items():
                symbols[species] += (match.how == FORM and match.kind == 0) / len(one_of)
                names[species] += (level(match) < _NEAR) / len(one_of)
        return symbols, names

    @cached_property
    def _styles(self) -> tuple[float, float]:
        found = Counter(_letter_case(mention.mention.surface) for mention in self.reading.mentions)
        count = max(1, found.total())
        return found[1.0] / count, found[0.0] / count


def level(match: Match) -> float:
    """Return how far a match is from the name as written, as one number."""
    return float(8 * match.steps + match.how)


def normalise(scores: Sequence[float]) -> list[float]:
    """Return the scores of a mention's species as probabilities.

    >>> normalise([0.5, 1.5])
    [0.25, 0.75]
    """
    total = sum(scores) or 1.0
    return [score / total for score in scores]


def _affix_species(surface: str) -> frozenset[str]:
    known = prefixes()
    return frozenset(species for each in variants(surface) if each.affix for species in known.get(each.affix.lower(), ()))


def _least(one: float, other: float) -> float:
    return other if math.isnan(one) else min(one, other)


def _is_inside(finding: Finding, mention: GeneMention) -> bool:
    return mention.mention.start <= finding.start and finding.end <= mention.mention.end


def _letter_case(surface: str) -> float:
    letters = [character for character in surface if character.isalpha()]
    if all(map(str.isupper, letters)):
        return 0.0
    if surface[:1].isupper() and all(map(str.islower, letters[1:])):
        return 1.0
    return 2.0 if all(map(str.islower, letters)) else 3.0


def describe(species: str) -> str:
    """Return the first name of a species, or its id if the table of organisms does not have it.

    >>> describe("ncbitaxon:10090"), describe("ncbitaxon:1")
    ('mouse', 'ncbitaxon:1')
    """
    found = organisms().get(species)
    return found.names[0] if found else species
