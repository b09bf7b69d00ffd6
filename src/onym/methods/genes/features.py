"""Features of pairs of a gene mention and a gene: names, species, memory of annotated mentions, document and gene.

`GENE_FEATURES` names the columns. A feature that does not apply is NaN.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from onym.methods.genes.index import HOMOLOG, LOOSE, NO_SPECIES, SIMILAR, GeneNames, Match
from onym.methods.genes.reading import GeneMention, GeneReading
from onym.methods.genes.species import level
from onym.methods.trees.memory import KbMemory, Own
from onym.methods.trees.trees import Floats

GENE_FEATURES = {
    "how": "how the surface matches a name of the gene: as written 0 ... similar 6",
    "steps": "steps of the variant of the surface that matches",
    "kind": "kind of the name that matches; 0 is the symbol",
    "long_how": "as `how`, of the long form that the document defines",
    "long_steps": "as `steps`, of the long form",
    "long_kind": "as `kind`, of the long form",
    "has_long": "1 if the document defines a long form",
    "similarity": "TF-IDF similarity, of similar names; how the homolog matches, of homologs",
    "species_probability": "probability of the gene's species for the mention",
    "species_rank": "number of likelier species among those of the candidates",
    "species_same_key": "mean probability of the species over mentions with the same key",
    "species_document": "mean probability of the species over all mentions of the document",
    "genes_in_species": "number of candidates of the same species",
    "rank_in_species": "number of better matching candidates of the same species",
    "ties_in_species": "number of other candidates of the same species that match as well",
    "level_margin": "difference of the match to the best of the same species",
    "candidates": "number of candidates",
    "recalled": "count of the gene for this key in the memory",
    "recalled_share": "`recalled` divided by the count of the key",
    "recalled_symbol": "count of genes with the same symbol for this key in the memory",
    "recalled_symbol_share": "`recalled_symbol` divided by the count of the key",
    "long_recalled_symbol": "as `recalled_symbol`, of the long form",
    "key_count": "count of the key in the memory",
    "gene_count": "count of the gene in the memory",
    "named_elsewhere": "number of other keys of the document that match the gene",
    "symbol_elsewhere": "number of other keys of the document that match a gene with the same symbol",
    "words_in_text": "number of words of the gene's names that the text has, outside of the mention",
    "words_share": "`words_in_text` divided by the number of words of the gene's names",
    "names": "number of names of the gene",
    "number": "log10 of the number of the gene: well-known genes have low ones",
    "gene_type": "protein-coding 0, pseudo 1, another 2, unknown 3",
    "symbol_species": "number of species with a gene of the same symbol",
    "length": "number of characters of the mention",
    "words": "number of words of the mention",
    "digits": "share of digits in the mention",
    "capitals": "share of capital letters in the mention",
}
GENE_NAMES = tuple(GENE_FEATURES)
_NOT = math.nan
Shares = defaultdict[str, float]
_WORD = re.compile(r"[a-z]{4,}")
_TYPES = {"protein-coding": 0.0, "pseudo": 1.0}
_PLAIN = frozenset(
    "protein gene like with type from homolog containing member family subunit factor domain associated".split()  # noqa: SIM905
)
_MAX_NAMES = 40  # names whose words are looked for
_CACHE_SIZE = 100_000


class GeneFacts:
    """What the features need to know of genes, whatever the document."""

    def __init__(self, names: GeneNames, memory: KbMemory) -> None:
        self.names, self.memory = names, memory
        self.words = lru_cache(_CACHE_SIZE)(self._words)
        self.facts = lru_cache(_CACHE_SIZE)(self._facts)

    def _words(self, gene: int) -> frozenset[str]:
        kb = self.names.kb
        rows = kb.names_of(gene)[:_MAX_NAMES].tolist()
        return frozenset(word for row in rows for word in _WORD.findall(kb.names[row])) - _PLAIN

    def _facts(self, gene: int) -> tuple[float, float, float, float]:
        """Return the number of names, the logarithm of the gene's number, its type, and the species with its symbol."""
        kb = self.names.kb
        number = kb.concept_ids[gene].rpartition(":")[2]
        types = [kb.types[int(each)] for each in kb.concept_types[gene]]
        kinds = [_TYPES.get(name, 2.0) for name in types if ":" not in name]
        symbol = self.names.symbol_of(gene)
        return (
            float(len(kb.names_of(gene))),
            math.log10(int(number)) if number.isdigit() and int(number) else _NOT,
            kinds[0] if kinds else 3.0,
            float(len(self.names.with_symbol(symbol))),
        )


@dataclass(frozen=True)
class GenePairs:
    """Computes the features of a document's candidates. `species` has the probabilities of species of each mention."""

    reading: GeneReading
    facts: GeneFacts
    species: Sequence[Mapping[str, float]]
    own: Own | None = None

    def features(self, row: int) -> tuple[tuple[int, ...], Floats]:
        """Return the candidates of a mention, and a row of features for each."""
        mention = self.reading.mentions[row]
        genes = self.candidates(row)
        recalled = self._recall(mention.key)
        long_recalled = self._recall(mention.long_key) if mention.long_key else {}
        symbols, long_symbols = self._by_symbol(recalled), self._by_symbol(long_recalled)
        ranks = self._rank_matches(mention, genes)
        probabilities, same = self.species[row], self._same_key[mention.key]
        order = sorted({self._species_of(gene) for gene in genes}, key=lambda one: (-probabilities.get(one, 0.0), one))
        rank = {one: number for number, one in enumerate(order)}
        total, surface = max(1, sum(recalled.values())), mention.mention.surface
        written = [
            float(len(surface)),
            float(len(surface.split())),
            sum(map(str.isdigit, surface)) / len(surface),
            sum(map(str.isupper, surface)) / len(surface),
        ]
        rows = []
        for gene in genes:
            symbol, one = self.facts.names.symbol_of(gene), self._species_of(gene)
            match, long = mention.genes.get(gene), mention.long_genes.get(gene)
            rows.append(
                [
                    *_of_match(match),
                    *_of_match(long),
                    float(bool(mention.long_key)),
                    match.similarity if match and match.how >= HOMOLOG else _NOT,
                    probabilities.get(one, 0.0),
                    float(rank[one]),
                    same[one],
                    self._document_species[one],
                    *ranks[gene],
                    float(len(genes)),
                    float(recalled.get(gene, 0)),
                    recalled.get(gene, 0) / total,
                    float(symbols[symbol]),
                    symbols[symbol] / total,
                    float(long_symbols[symbol]),
                    float(sum(recalled.values())),
                    float(self.facts.memory.totals[gene] - self._own_totals[gene]),
                    *self._elsewhere(mention, gene, symbol),
                    *self._words_in_text(mention, gene),
                    *self.facts.facts(gene),
                    *written,
                ]
            )
        return genes, np.array(rows, dtype=np.float64).reshape(len(genes), len(GENE_NAMES))

    def candidates(self, row: int) -> tuple[int, ...]:
        """Return the genes that match, and those that the memory knows for the key or the long form, with their homologs."""
        mention, names = self.reading.mentions[row], self.facts.names
        recalled = {**self._recall(mention.key), **(self._recall(mention.long_key) if mention.long_key else {})}
        symbols = dict.fromkeys(names.symbol_of(gene) for gene in recalled)
        homologs = [gene for symbol in symbols for gene in names.with_symbol(symbol)]
        likely = self.species[row]
        found = dict.fromkeys((*mention.candidates, *recalled, *homologs))
        return tuple(gene for gene in found if names.species[gene] != NO_SPECIES and self._species_of(gene) in likely)

    def _species_of(self, gene: int) -> str:
        return self.facts.names.species_of(gene)

    def _recall(self, key: str) -> dict[int, int]:
        return self.facts.memory.recall(key, self.own)

    def _by_symbol(self, recalled: Mapping[int, int]) -> Counter[str]:
        found: Counter[str] = Counter()
        for gene, count in recalled.items():
            found[self.facts.names.symbol_of(gene)] += count
        return found

    def _rank_matches(self, mention: GeneMention, genes: Sequence[int]) -> dict[int, list[float]]:
        """Return where each candidate stands among those of its species."""
        levels: dict[str, list[tuple[float, int]]] = defaultdict(list)
        own = {}
        for gene in genes:
            own[gene] = _strength(mention, gene)
            levels[self._species_of(gene)].append(own[gene])
        found = {}
        for gene in genes:
            others = levels[self._species_of(gene)]
            found[gene] = [
                float(len(others)),
                float(sum(other < own[gene] for other in others)),
                float(sum(other == own[gene] for other in others) - 1),
                own[gene][0] - min(others)[0],
            ]
        return found

    def _elsewhere(self, mention: GeneMention, gene: int, symbol: str) -> list[float]:
        own = {mention.key, mention.long_key}
        genes, symbols = self._matching
        return [float(len(genes.get(gene, set()) - own)), float(len(symbols.get(symbol, set()) - own))]

    @cached_property
    def _matching(self) -> tuple[dict[int, set[str]], dict[str, set[str]]]:
        """Return the keys of the document that match each gene, and each symbol, by name."""
        genes: dict[int, set[str]] = defaultdict(set)
        symbols: dict[str, set[str]] = defaultdict(set)
        for mention in self.reading.mentions:
            for key, matches in ((mention.key, mention.genes), (mention.long_key, mention.long_genes)):
                for gene, match in matches.items():
                    if match.how <= LOOSE and match.steps < 3:
                        genes[gene].add(key)
                        symbols[self.facts.names.symbol_of(gene)].add(key)
        return genes, symbols

    def _words_in_text(self, mention: GeneMention, gene: int) -> list[float]:
        words = self.facts.words(gene)
        found = (words & self._text_words) - set(_WORD.findall(mention.mention.surface.lower()))
        return [float(len(found)), len(found) / max(1, len(words))]

    @cached_property
    def _text_words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.reading.document.text.lower()))

    @cached_property
    def _own_totals(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for rows in (self.own or {}).values():
            found.update(rows)
        return found

    @cached_property
    def _same_key(self) -> Mapping[str, Shares]:
        """Return the mean probability of each species over the mentions with a key."""
        rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        for mention, probabilities in zip(self.reading.mentions, self.species, strict=True):
            rows[mention.key].append(probabilities)
        return {key: _mean(each) for key, each in rows.items()}

    @cached_property
    def _document_species(self) -> Shares:
        return _mean(self.species)


def _mean(rows: Sequence[Mapping[str, float]]) -> Shares:
    found: Shares = defaultdict(float)
    for row in rows:
        for one, probability in row.items():
            found[one] += probability / len(rows)
    return found


def _of_match(match: Match | None) -> list[float]:
    return [_NOT, _NOT, _NOT] if match is None else [float(match.how), float(match.steps), float(match.kind)]


def _strength(mention: GeneMention, gene: int) -> tuple[float, int]:
    """Return how well a candidate matches, smaller is better: the sum over surface and long form, and the kind of the name."""
    found = [genes[gene] for genes in (mention.genes, mention.long_genes) if gene in genes]
    if not found:
        return 40.0, 9
    best = min(found, key=level)
    both = 0.5 if len(found) == 2 and max(map(level, found)) < SIMILAR else 0.0
    return level(best) - both, best.kind
