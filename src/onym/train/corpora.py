"""Several corpora to learn from together: how they are named, and their documents, without any that is held out.

No model runs here: rerankers and classifiers are trained without torch.
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
from onym.train.card import describe_kb
from onym.train.configs import MentionsTrainingConfig, RerankTrainingConfig
from onym.types import Document

C = TypeVar("C", bound=MentionsTrainingConfig | RerankTrainingConfig)


class OfCorpora:
    """A part of a training context whose `config.data` names corpora; `data` has the files of datasets not yet prepared."""

    config: Any
    data: Path | None

    @cached_property
    def datasets(self) -> list[PreparedDataset]:
        """The datasets that are learnt from."""
        if not self.config.data.private:
            require_shippable(self.config.data.datasets)
        return [open_dataset(name, self.data) for name in self.config.data.datasets]

    @cached_property
    def training(self) -> list[TrainingCorpus]:
        """Their training documents, without any that is held out."""
        return training_corpora(self.datasets, [open_dataset(name, self.data) for name in self.config.data.exclude])


@dataclass(frozen=True)
class CorporaContext(OfCorpora, Generic[C]):
    """What a training without a neural model works with: corpora, and a knowledge base."""

    config: C
    data: Path | None = None

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base that the corpora are annotated with."""
        return KnowledgeBase.open(self.config.data.kb, verify="full")

    @property
    def origin(self) -> dict[str, Any]:
        """The first part of the record of the training."""
        return {
            "stage": self.config.stage,
            "config": self.config.model_dump(mode="json"),
            "kb": describe_kb(self.kb),
            "corpora": [corpus.as_dict() for corpus in self.training],
        }


def rename_types(documents: Iterable[Document], types: Mapping[str, str]) -> tuple[Document, ...]:
    """Return documents with types of mentions named anew; mentions of a type whose name is empty are left out.

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
