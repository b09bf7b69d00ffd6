"""Organism linker: links mentions of species to NCBI Taxonomy, and those of cell lines to Cellosaurus.

The type of a mention says which of both it is. Candidates have the mention as a name, also in the plural, but for punctuation,
or with a shortened genus (*E. coli*). Gradient-boosted trees choose among them, by the names that the document spells out,
annotated mentions, and the species that the document names. `onym train organisms` trains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import Best
from onym.methods.base import LinkerConfig
from onym.methods.evidence import Evidence, Reason, ReasonKind, effects_of
from onym.methods.genes.taxa import OrganismNames
from onym.methods.genes.taxon_features import TAXON_NAMES, TaxonFacts, TaxonMention, TaxonPairs
from onym.methods.genes.taxon_model import OrganismModel, open_organism_model
from onym.methods.trees.linker import TreesLinker
from onym.methods.trees.memory import KbMemory
from onym.methods.trees.trees import Floats, score_each
from onym.parts import ModelReference, OpenContext, require_model
from onym.text.analysis import analyse
from onym.text.queries import Query, documents_of
from onym.types import Document, Link


class OrganismsLinkerConfig(LinkerConfig):
    """A trained organism model."""

    kind: Literal["organisms"] = "organisms"
    model: ModelReference | None = Field(default=None, description="Folder of the trained organism model.")


Config = OrganismsLinkerConfig  # the registry expects this name in every module


def open(config: OrganismsLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> OrganismsLinker:
    """Open the model, and the table of names of organisms of the knowledge base."""
    folder = require_model(config.model, "the linker organisms").folder(context)
    return OrganismsLinker(kb, open_organism_model(folder, verify=context.verify))


class _TaxonScores(NamedTuple):
    """The candidates of a mention: rows of concepts, features, and probabilities."""

    concepts: tuple[int, ...]
    matrix: Floats
    scores: Floats


class OrganismsLinker(TreesLinker):
    """Links a mention to the species or the cell line with the highest probability of being right, which is its score.

    Needs: a knowledge base with NCBI Taxonomy or Cellosaurus, and a model trained by `onym train organisms`.
    When to use: for species and cell lines; other types of mentions have no candidates.
    Related: `GenesLinker`.
    """

    stage = "organisms"
    model: OrganismModel

    def __init__(self, kb: KnowledgeBase, model: OrganismModel) -> None:
        self.kb, self.model = kb, model
        self.names = OrganismNames.open(kb)
        if not (self.names.is_taxon.any() or self.names.is_cell.any()):
            fix = "build it from a taxdump of NCBI Taxonomy or from Cellosaurus"
            raise ConfigError(
                "organisms-missing", "the knowledge base has no species or cell lines", where=str(kb.folder), fix=fix
            )
        self._facts = TaxonFacts(self.names, KbMemory(model.memory, kb))

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"linker": "organisms", "model": self.model.digest}

    def score(self, doc: Document) -> Iterable[Best]:
        """Yield for each mention of a document its concepts: the score and the matching name of each."""
        pairs, scored = self._score(doc)
        for mention, each in zip(pairs.mentions, scored, strict=True):
            scores = zip(each.concepts, each.scores.tolist(), strict=True)
            yield {concept: (score, self._name_of(mention, concept)) for concept, score in scores}

    def evidence(self, queries: Sequence[Query], links: Sequence[Link]) -> list[Evidence]:
        """Return the evidence for each link: the name, the memory, and the effect of each feature."""
        if not queries:
            return []
        [doc] = documents_of(queries)
        pairs, scored = self._score(doc)
        return [self._explain(*each) for each in zip(pairs.mentions, scored, links, strict=True)]

    def _score(self, doc: Document) -> tuple[TaxonPairs, list[_TaxonScores]]:
        pairs = TaxonPairs(analyse(doc), self._facts)
        found = [pairs.features(row) for row in range(len(pairs.mentions))]
        scores = score_each(self.model.trees, [matrix for _, matrix in found])
        return pairs, [_TaxonScores(*each, own) for each, own in zip(found, scores, strict=True)]

    def _name_of(self, mention: TaxonMention, concept: int) -> int:
        """Return the name that matches, or the first one if the concept is a candidate for another reason."""
        match = mention.matches.get(concept) or mention.long_matches.get(concept)
        own = self.kb.names_of(concept)
        return match.name if match and match.name in own else int(own[0])

    def _explain(self, mention: TaxonMention, scored: _TaxonScores, link: Link) -> Evidence:
        if not link.candidates:
            return Evidence()
        rows = [scored.concepts.index(self.kb.concept_ids.find(each.concept_id)) for each in link.candidates[:2]]
        concept = scored.concepts[rows[0]]
        kind: ReasonKind = "same-name" if concept in mention.matches else "other-name"
        recalled = self._facts.memory.recall(mention.key).get(concept, 0)
        memory = [Reason("memory", mention.mention.surface, float(recalled))] if recalled else []
        effects = effects_of(self.model.trees.probabilities, TAXON_NAMES, scored.matrix[rows[0]], scored.matrix[rows[-1]])
        return Evidence((Reason(kind, link.candidates[0].name, 1.0), *memory), effects if len(rows) > 1 else ())
