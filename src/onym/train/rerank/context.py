"""What the training of a reranker opens before it starts: datasets, knowledge base, linkers that propose, memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from onym.datasets.training import TrainingCorpus
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers import dense
from onym.linkers.rerank import RerankParts, open_parts
from onym.parts import OpenContext
from onym.rerank.features import FEATURES
from onym.rerank.memory import Counts, KbMemory, Memory, Own, count_mentions
from onym.train.corpora import OfCorpora
from onym.train.rerank.config import RerankTrainingConfig
from onym.types import Document


@dataclass(frozen=True)
class RerankContext(OfCorpora):
    """What a training run works with; `data` has the files of datasets not yet prepared."""

    config: RerankTrainingConfig
    data: Path | None = None

    @cached_property
    def corpora(self) -> list[TrainingCorpus]:
        """The training documents with the mentions of the wanted types."""
        return [replace(corpus, documents=tuple(self.of_types(corpus.documents))) for corpus in self.training]

    def of_types(self, documents: Iterable[Document]) -> list[Document]:
        """Return documents with the mentions of the wanted types."""
        types = self.config.data.types
        return [
            replace(doc, mentions=tuple(each for each in doc.mentions if not types or each.type in types)) for doc in documents
        ]

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base that mentions are linked to."""
        return KnowledgeBase.open(self.config.data.kb, verify="full")

    @cached_property
    def parts(self) -> RerankParts:
        """The linkers that propose candidates."""
        pool = self.config.pool
        encoder = dense.Config.from_options({"model": pool.encoder, "index": pool.index}) if pool.encoder else None
        return open_parts(self.kb, OpenContext(), encoder)

    @cached_property
    def counts(self) -> Counts:
        """What the surfaces of all training documents meant."""
        return count_mentions(doc for corpus in self.corpora for doc in corpus.documents)

    @cached_property
    def memory(self) -> KbMemory:
        """The memory of the training documents."""
        return KbMemory(Memory.of(self.counts), self.kb)

    @cached_property
    def _copies(self) -> dict[str, list[Document]]:
        """The training documents by id: several corpora may annotate one document."""
        found = defaultdict(list)
        for corpus in self.corpora:
            for doc in corpus.documents:
                found[doc.id].append(doc)
        return found

    def own(self, doc: Document) -> Own:
        """Return what the memory has of a training document itself."""
        return self.memory.own(count_mentions(self._copies[doc.id]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The features that are learnt with."""
        without = set(self.config.trees.without)
        if unknown := sorted(without - {feature.group for feature in FEATURES}):
            known = ", ".join(dict.fromkeys(feature.group for feature in FEATURES))
            what = f"there is no group of features named {unknown[0]!r}"
            raise ConfigError("config-invalid", what, where="trees.without", fix=f"the groups are {known}")
        left = [feature.name for feature in FEATURES if feature.group not in without]
        return tuple(name for name in left if self.config.pool.encoder or not name.startswith("dense"))
