"""What the training of a classifier opens: corpora, knowledge base, dictionary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from onym.datasets.training import TrainingCorpus
from onym.detect.dictionary import DictionaryDetector
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.masks import select_concepts
from onym.train.corpora import OfCorpora, renamed
from onym.train.mentions.config import MentionsTrainingConfig


@dataclass(frozen=True)
class MentionsContext(OfCorpora):
    """What a training run works with; `data` has the files of datasets not yet prepared."""

    config: MentionsTrainingConfig
    data: Path | None = None

    @cached_property
    def corpora(self) -> list[TrainingCorpus]:
        """The training documents with the types of the knowledge base."""
        return [replace(corpus, documents=renamed(corpus.documents, self.config.data.types)) for corpus in self.training]

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
