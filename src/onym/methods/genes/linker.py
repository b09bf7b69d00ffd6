"""Gene linker: finds the species of a gene mention in the text, then the gene of that name in that species.

One name stands for many genes, one or more in each species. Gradient-boosted trees first give each species a probability: by
letters before the symbol (hTNF), and by names of organisms beside the mention, in its sentence, in the title and in the
document. Other trees then choose among the genes with the mention's name, in all likely species. `onym train genes`
trains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import Best
from onym.methods.base import LinkerConfig
from onym.methods.evidence import Evidence, Reason, ReasonKind, effects_of
from onym.methods.genes.features import GENE_NAMES, GeneFacts, GenePairs
from onym.methods.genes.index import GeneNames
from onym.methods.genes.model import GeneModel, open_gene_model
from onym.methods.genes.organisms import find_species
from onym.methods.genes.reading import GeneMention, GeneReading
from onym.methods.genes.species import SPECIES_NAMES, SpeciesEvidence, describe, normalise
from onym.methods.trees.linker import TreesLinker
from onym.methods.trees.memory import KbMemory
from onym.methods.trees.trees import Floats, score_each
from onym.parts import ModelReference, OpenContext, require_model
from onym.text.analysis import analyse
from onym.text.queries import Query, documents_of
from onym.types import Document, Link

_WHY: tuple[tuple[str, ReasonKind], ...] = (
    ("affix_gene", "species-prefix"), ("inside", "species-beside"), ("beside", "species-beside"),
    ("in_sentence", "species-sentence"), ("in_document", "species-document"), ("cues_in_document", "species-cues"),
)  # fmt: skip


class GenesLinkerConfig(LinkerConfig):
    """A trained gene model, and the species that genes may have."""

    kind: Literal["genes"] = "genes"
    model: ModelReference | None = Field(default=None, description="Folder of the trained gene model.")
    species: str = Field(
        default="", description="Only genes of these species: names or taxon ids, separated by commas, such as human,mouse."
    )
    default_species: str = Field(
        default="", description="Species of the genes of a document that names no organism: name or taxon id, such as human."
    )


Config = GenesLinkerConfig  # the registry expects this name in every module


def open(config: GenesLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> GenesLinker:
    """Open the model, and the table of gene names of the knowledge base."""
    folder = require_model(config.model, "the linker genes").folder(context)
    return GenesLinker(kb, open_gene_model(folder, verify=context.verify), config)


class _GeneScores(NamedTuple):
    """The candidates of a mention: rows of genes, features, probabilities, and the probabilities of species."""

    genes: tuple[int, ...]
    matrix: Floats
    scores: Floats
    species: Mapping[str, float]


class GenesLinker(TreesLinker):
    """Links a gene mention to the gene with the highest probability of being right, in the species that the text suggests.

    The probability is the score of a candidate.

    Needs: a knowledge base of genes that states their species, and a model trained by `onym train genes`.
    When to use: for genes of several species; with a knowledge base of one species, other linkers do too.
    Related: `RerankLinker`.
    """

    stage = "genes"
    model: GeneModel

    def __init__(self, kb: KnowledgeBase, model: GeneModel, config: GenesLinkerConfig | None = None) -> None:
        self.kb, self.model = kb, model
        self._config = config or GenesLinkerConfig()
        self.names = GeneNames.open(kb)
        if not self.names.species_ids:
            fix = "build it from gene_info or tables of gene synonyms, see the how-to on NCBI Gene"
            raise ConfigError(
                "genes-without-species", "no gene of the knowledge base states its species", where=str(kb.folder), fix=fix
            )
        self._facts = GeneFacts(self.names, KbMemory(model.memory, kb))
        self._allowed = self._species_in(self._config.species, "--species")
        self._default = self._species_in(self._config.default_species, "--default-species")

    def _species_in(self, text: str, option: str) -> frozenset[str]:
        """Return the species that an option names; raise ConfigError if the knowledge base has no gene of one of them."""
        found = [(word, find_species(word)) for word in (part.strip() for part in text.split(",")) if word]
        for word, species in found:
            if species not in self.names.species_ids:
                known = ", ".join(describe(each) for each in self.names.species_ids[:20])
                what = f"the knowledge base has no genes of the species {word!r}"
                raise ConfigError("species-unknown", what, where=option, fix=f"use one of {known}, or a taxon id")
        return frozenset(species for _, species in found)

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        options = {
            name: sorted(found) for name, found in (("species", self._allowed), ("default_species", self._default)) if found
        }
        return {"linker": "genes", "model": self.model.digest, **options}

    def score(self, doc: Document) -> Iterable[Best]:
        """Yield for each mention of a document its genes: the score and the matching name of each."""
        reading, scored = self._score(doc)
        for mention, each in zip(reading.mentions, scored, strict=True):
            scores = zip(each.genes, each.scores.tolist(), strict=True)
            yield {gene: (score, self._name_of(mention, gene)) for gene, score in scores}

    def evidence(self, queries: Sequence[Query], links: Sequence[Link]) -> list[Evidence]:
        """Return the evidence for each link: the name, the species and why, the memory, and the effect of each feature."""
        if not queries:
            return []
        [doc] = documents_of(queries)
        reading, scored = self._score(doc)
        signs = SpeciesEvidence(reading, self.names)
        return [self._explain(signs, *each) for each in zip(reading.mentions, scored, links, strict=True)]

    def species_of(self, doc: Document) -> list[Mapping[str, float]]:
        """Return, for each mention of a document, the probabilities of species, by ids of NCBI Taxonomy."""
        return self._assign(GeneReading.of(analyse(doc), self.names))

    def _score(self, doc: Document) -> tuple[GeneReading, list[_GeneScores]]:
        reading = GeneReading.of(analyse(doc), self.names)
        species = self._assign(reading)
        pairs = GenePairs(reading, self._facts, species)
        found = [pairs.features(row) for row in range(len(reading.mentions))]
        scores = score_each(self.model.genes, [matrix for _, matrix in found])
        rows = zip(found, scores, species, strict=True)
        return reading, [_GeneScores(genes, matrix, own, probable) for (genes, matrix), own, probable in rows]

    def _assign(self, reading: GeneReading) -> list[Mapping[str, float]]:
        signs = SpeciesEvidence(reading, self.names)
        found = [signs.features(mention) for mention in reading.mentions]
        scores = score_each(self.model.species, [matrix for _, matrix in found])
        names = [species for species, _ in found]
        likely = [dict(zip(each, normalise(own.tolist()), strict=True)) for each, own in zip(names, scores, strict=True)]
        return [self._restrict(each, reading) for each in likely]

    def _restrict(self, likely: dict[str, float], reading: GeneReading) -> Mapping[str, float]:
        """Apply the options: only the allowed species, and the default one where the document names no organism."""
        allowed = self._default if self._default and not reading.findings else self._allowed
        if not allowed:
            return likely
        kept = {species: likely.get(species, 0.0) for species in sorted(allowed)}
        if not sum(kept.values()):
            return dict.fromkeys(kept, 1 / len(kept))
        return dict(zip(kept, normalise(list(kept.values())), strict=True))

    def _name_of(self, mention: GeneMention, gene: int) -> int:
        """Return the name that matches, or the symbol if the gene is a candidate for another reason."""
        match = mention.genes.get(gene) or mention.long_genes.get(gene)
        own = self.kb.names_of(gene)
        return match.name if match and match.name in own else int(own[0])

    def _explain(self, signs: SpeciesEvidence, mention: GeneMention, scored: _GeneScores, link: Link) -> Evidence:
        if not link.candidates:
            return Evidence()
        rows = [scored.genes.index(self.kb.concept_ids.find(each.concept_id)) for each in link.candidates[:2]]
        gene = scored.genes[rows[0]]
        name = Reason("same-name" if gene in mention.genes else "other-name", link.candidates[0].name, 1.0)
        recalled = self._facts.memory.recall(mention.key).get(gene, 0)
        memory = [Reason("memory", mention.mention.surface, float(recalled))] if recalled else []
        species = self._species_reasons(signs, mention, scored, gene)
        effects = effects_of(self.model.genes.probabilities, GENE_NAMES, scored.matrix[rows[0]], scored.matrix[rows[-1]])
        return Evidence((name, *species, *memory), effects if len(rows) > 1 else ())

    def _species_reasons(
        self, signs: SpeciesEvidence, mention: GeneMention, scored: _GeneScores, gene: int
    ) -> Iterator[Reason]:
        """Yield the species of a gene with its probability, and what in the text speaks for it."""
        own = self.names.species_of(gene)
        yield Reason("species", describe(own), scored.species.get(own, 0.0))
        species, matrix = signs.features(mention)
        if own in species:
            row = matrix[species.index(own)]
            values = [(kind, float(row[SPECIES_NAMES.index(column)])) for column, kind in _WHY]
            said = {kind: value for kind, value in reversed(values) if value > 0}
            yield from (
                Reason(kind, describe(own), said[kind]) for kind in dict.fromkeys(kind for _, kind in _WHY) if kind in said
            )
