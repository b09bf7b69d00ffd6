"""Training on several corpora: open the datasets and leave out held-out documents.

Does not import torch, which rerankers and classifiers do not need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from onym.datasets import PreparedDataset
from onym.datasets.prepared import open_dataset
from onym.datasets.training import TrainingCorpus, require_shippable, training_corpora
from onym.kb import KnowledgeBase
from onym.packs.locate import locate_kb
from onym.train.card import describe_kb
from onym.train.configs import (
    GenesTrainingConfig,
    MentionsTrainingConfig,
    OrganismsTrainingConfig,
    RerankTrainingConfig,
    StudentTrainingConfig,
)
from onym.types import Document

OwnConfig = (
    MentionsTrainingConfig | RerankTrainingConfig | StudentTrainingConfig | GenesTrainingConfig | OrganismsTrainingConfig
)
C = TypeVar("C", bound=OwnConfig)


class OfCorpora:
    """Mixin for contexts whose `config.data` lists datasets; `data` has the raw files of datasets not yet prepared."""

    config: Any
    data: Path | None

    @cached_property
    def datasets(self) -> list[PreparedDataset]:
        """The datasets to train on."""
        if not self.config.data.private:
            require_shippable(self.config.data.datasets)
        return [open_dataset(name, self.data) for name in self.config.data.datasets]

    @cached_property
    def training(self) -> list[TrainingCorpus]:
        """The training documents of each dataset, without held-out documents."""
        return training_corpora(self.datasets, [open_dataset(name, self.data) for name in self.config.data.exclude])


@dataclass(frozen=True)
class CorporaContext(OfCorpora, Generic[C]):
    """Inputs of a training run without a pretrained model: corpora and a knowledge base."""

    config: C
    data: Path | None = None

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base that has the gold ids of the corpora."""
        return KnowledgeBase.open(locate_kb(self.config.data.kb), verify="full")

    @property
    def origin(self) -> dict[str, Any]:
        """The part of the training record that is known before training: the configuration and the training inputs."""
        return {
            "stage": self.config.stage,
            "config": self.config.model_dump(mode="json"),
            "kb": describe_kb(self.kb),
            "corpora": [corpus.as_dict() for corpus in self.training],
        }


def rename_types(documents: Iterable[Document], types: Mapping[str, str]) -> tuple[Document, ...]:
    """Return documents with renamed mention types; mentions whose type is renamed to "" are dropped.

    >>> from onym.types import Mention
    >>> doc = Document("1", "flu", (Mention(0, 3, "flu", ("a:1",), "SpecificDisease"), Mention(0, 3, "flu", (), "Other")))
    >>> [mention.type for mention in rename_types([doc], {"SpecificDisease": "Disease", "Other": ""})[0].mentions]
    ['Disease']
    """
    found = []
    for doc in documents:
        named = (replace(mention, type=types.get(mention.type, mention.type)) for mention in doc.mentions)
        found.append(replace(doc, mentions=tuple(mention for mention in named if mention.type), relations=()))
    return tuple(found)
