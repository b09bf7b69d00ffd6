"""What the training of a classifier opens: corpora, knowledge base, dictionary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from onym.datasets import PreparedDataset
from onym.datasets.cached import open_dataset
from onym.datasets.training import TrainingCorpus, require_shippable, training_corpora
from onym.detect.dictionary import DictionaryDetector
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.masks import select_concepts
from onym.train.mentions.config import MentionsTrainingConfig
from onym.types import Document


@dataclass(frozen=True)
class MentionsContext:
    """What a training run works with; `data` has the files of datasets not yet prepared."""

    config: MentionsTrainingConfig
    data: Path | None = None

    @cached_property
    def datasets(self) -> list[PreparedDataset]:
        """The datasets that are learnt from."""
        if not self.config.data.private:
            require_shippable(self.config.data.datasets)
        return [open_dataset(name, self.data) for name in self.config.data.datasets]

    @cached_property
    def corpora(self) -> list[TrainingCorpus]:
        """Their training documents, without any that is held out, with the types of the knowledge base."""
        found = training_corpora(self.datasets, [open_dataset(name, self.data) for name in self.config.data.exclude])
        return [replace(corpus, documents=tuple(self.renamed(corpus.documents))) for corpus in found]

    def renamed(self, documents: Iterable[Document]) -> list[Document]:
        """Return documents with the types of mentions named as in the knowledge base."""
        types = self.config.data.types
        return [
            replace(doc, mentions=tuple(replace(each, type=types.get(each.type, each.type)) for each in doc.mentions))
            for doc in documents
        ]

    @cached_property
    def annotated(self) -> dict[str, frozenset[str]]:
        """The types that each corpus annotates, of those that are looked for."""
        only = self.config.data.only
        found = {corpus.name: {each.type for doc in corpus.documents for each in doc.mentions} for corpus in self.corpora}
        return {name: frozenset(kind for kind in types if not only or kind in only) for name, types in found.items()}

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base whose names are looked for."""
        return KnowledgeBase.open(self.config.data.kb, verify="full")

    @cached_property
    def dictionary(self) -> DictionaryDetector:
        """The detector whose spans are classified; it has no classifier yet."""
        if self.config.dictionary.classifier is not None:
            what = "the dictionary has a classifier already"
            raise ConfigError("config-invalid", what, where="dictionary.classifier", fix="leave it out")
        return DictionaryDetector(self.kb, self.config.dictionary, only=select_concepts(self.kb, self.config.data.only, ()))
