"""Inputs of a training run: the model, the dataset, the knowledge base, the mentions, and the dev sample."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from onym.datasets import PreparedDataset
from onym.datasets.prepared import open_dataset
from onym.errors import ConfigError
from onym.evaluate.cases import ConceptResolver, gold_cases
from onym.evaluate.metrics import score
from onym.kb import KnowledgeBase
from onym.kb.ranking import names_of
from onym.methods.base import Linker
from onym.models.tokens import Tokenizer
from onym.outputs.predictions import Predictions, predictions_of
from onym.packs.locate import locate_kb
from onym.pipeline import Pipeline, PipelineOptions
from onym.train.card import describe_kb
from onym.train.configs import RunConfig, TrainingConfig
from onym.train.precision import is_sharded, training_device
from onym.train.samples.base import Shuffled
from onym.train.samples.mentions import DocMention, concepts_of, mentions_of
from onym.train.stages import require_same
from onym.types import Document

R = TypeVar("R", bound=RunConfig)
C = TypeVar("C", bound=TrainingConfig)
T = TypeVar("T")
_SEED = 0  # fixed, so that every run evaluates on the same random names


@dataclass(frozen=True)
class RunContext(Generic[R]):
    """Inputs of a training run. Checkpoints and logs go to `work`; `data` has the raw files of datasets not yet prepared."""

    config: R
    work: Path
    data: Path | None = None

    def require_same_config(self) -> None:
        """Raise ConfigError if the run to resume was started with another configuration."""
        require_same(self.work / "config.json", self.config.model_dump(mode="json"))

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model."""
        return Tokenizer.open(self.config.start.tokenizer or self.config.start.model)

    @property
    def device(self) -> torch.device:
        """The device to train on."""
        return training_device(self.config.optim)

    def on_device(self, model: Any) -> Any:
        """Move a model to the training device. With FSDP it stays on the CPU, because FSDP moves the shards itself."""
        return model if is_sharded() else model.to(self.device)

    @property
    def files(self) -> dict[str, bytes]:
        """All files of the trained model except the weights, by name."""
        raise NotImplementedError

    @cached_property
    def model(self) -> Any:
        """The model to train."""
        raise NotImplementedError

    @property
    def origin(self) -> dict[str, Any]:
        """The training inputs: the entries `kb` and `corpus` of the training record."""
        raise NotImplementedError

    @property
    def samples_per_step(self) -> int:
        """The number of samples per step over all devices; torchrun and accelerate set WORLD_SIZE, the number of devices."""
        optim = self.config.optim
        return optim.batch_size * optim.gradient_accumulation * int(os.environ.get("WORLD_SIZE") or 1)


@dataclass(frozen=True)
class TrainingContext(RunContext[C]):
    """Inputs of a training run on a dataset or, if no dataset is given, on a knowledge base."""

    @property
    def origin(self) -> dict[str, Any]:
        """The knowledge base and the dataset."""
        return {
            "kb": describe_kb(self.kb),
            "corpus": _describe(self.dataset) if self.dataset else {},
        }

    @cached_property
    def dataset(self) -> PreparedDataset | None:
        """The dataset, or None if the configuration names no dataset."""
        name = self.config.data.dataset
        return open_dataset(name, self.data) if name else None

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base to train on."""
        own = self.dataset.kb_folder if self.dataset else None
        if not (self.config.data.kb or own):
            raise ConfigError("config-invalid", "no knowledge base given", fix="set data.kb to a folder")
        return KnowledgeBase.open(locate_kb(self.config.data.kb or str(own)), verify="full")  # training reads all files anyway

    @property
    def dev_kb(self) -> KnowledgeBase:
        """The knowledge base that dev is linked to."""
        return KnowledgeBase.open(locate_kb(self.config.dev.kb)) if self.config.dev.kb else self.kb

    @cached_property
    def documents(self) -> list[Document]:
        """The documents to train on."""
        return self._documents(self.config.data.splits)

    @cached_property
    def mentions(self) -> list[DocMention]:
        """The mentions to train on."""
        return mentions_of(self.documents, exclude=self._documents(self.config.data.exclude_splits))

    @property
    def total_samples(self) -> int:
        """The number of samples of the whole run over all devices."""
        return self.config.optim.steps * self.samples_per_step

    def _documents(self, splits: tuple[str, ...]) -> list[Document]:
        if self.dataset is None:
            raise ConfigError("config-invalid", "no dataset given", fix="set data.dataset to a name or folder")
        return [doc for split in splits for doc in self.dataset.documents(split)]


def _describe(dataset: PreparedDataset) -> dict[str, Any]:
    return {"name": dataset.name, "digest": dataset.digest, "overlap": dataset.report.get("overlap", {})}


def space_evenly(items: Sequence[T], count: int) -> list[T]:
    """Return `count` evenly spaced items; 0 means all.

    >>> space_evenly([1, 2, 3, 4, 5, 6], 3)
    [1, 3, 5]
    """
    if not count or count >= len(items):
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]


def dev_documents(documents: Iterable[Document], count: int) -> list[Document]:
    """Return documents reduced to `count` evenly spaced mentions with an id; 0 means all mentions.

    >>> from onym.types import Mention
    >>> doc = Document("1", "fever, cough", (Mention(0, 5, "fever", ("a:1",)), Mention(7, 12, "cough", ("a:2",))))
    >>> [mention.surface for doc in dev_documents([doc, doc], 2) for mention in doc.mentions]
    ['fever', 'fever']
    """
    mentions = [(doc, mention) for doc in documents for mention in doc.mentions if mention.concept_ids]
    groups = [list(group) for _, group in groupby(space_evenly(mentions, count), key=lambda pair: id(pair[0]))]
    return [replace(group[0][0], mentions=tuple(mention for _, mention in group)) for group in groups]


def dev_recall(linker: Linker, documents: Sequence[Document], resolver: ConceptResolver, *, top_k: int) -> dict[str, float]:
    """Return any-id recall@1 and recall@5 on the gold mentions in percent, computed as in `onym evaluate`."""
    pipeline = Pipeline(linker, options=PipelineOptions(top_k=top_k), bare=True)
    answers = Predictions.of(predictions_of(pipeline.link_many(documents)), {}).answers
    found = score(gold_cases(documents, lambda key: answers[key], resolver), "any-id")
    return {f"dev_r{k}": 100 * found.recall[k] for k in (1, 5)}


def dev_names(documents: Sequence[Document], kb: KnowledgeBase, others: int) -> npt.NDArray[np.int64] | None:
    """Return the ids of all names of the gold concepts plus `others` random names.

    If `others` is 0, or there are not that many other names, return None, which means all names of the knowledge base.

    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> len(kb.names), len(dev_names([doc], kb, 2)), dev_names([doc], kb, 0)
    (9, 5, None)
    """
    is_gold = np.zeros(len(kb), dtype=bool)
    is_gold[list({concept for doc in documents for mention in doc.mentions for concept in concepts_of(mention, kb)})] = True
    is_named = names_of(kb, is_gold)
    if not others or int(is_named.sum()) + others >= len(kb.names):
        return None
    drawn = Shuffled(len(kb.names), _SEED).at(np.arange(len(kb.names)))
    is_named[drawn[~is_named[drawn]][:others]] = True
    return np.flatnonzero(is_named)
