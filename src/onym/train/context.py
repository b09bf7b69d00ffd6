"""What every stage of training opens before it starts: the model; and most stages a dataset, a knowledge base, mentions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from onym.datasets import PreparedDataset
from onym.datasets.prepared import open_dataset
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.train.arguments import training_device
from onym.train.config import RunConfig, TrainingConfig
from onym.train.samples.mentions import mentions_of
from onym.train.samples.targets import DocMention
from onym.train.sharded import is_sharded
from onym.train.stages import require_same
from onym.types import Document

R = TypeVar("R", bound=RunConfig)
C = TypeVar("C", bound=TrainingConfig)


@dataclass(frozen=True)
class RunContext(Generic[R]):
    """What a training run works with. Checkpoints and logs go to `work`; `data` has the files of datasets not yet prepared."""

    config: R
    work: Path
    data: Path | None = None

    def require_same_config(self) -> None:
        """Refuse to resume a run that was started with another configuration."""
        require_same(self.work / "config.json", self.config.model_dump(mode="json"))

    @property
    def device(self) -> torch.device:
        """Where the model is trained."""
        return training_device(self.config.optim)

    def on_device(self, model: Any) -> Any:
        """Move a model to the device; one that FSDP will shard stays on the CPU."""
        return model if is_sharded() else model.to(self.device)

    @property
    def files(self) -> dict[str, bytes]:
        """The files that a trained model needs besides its weights, by name."""
        raise NotImplementedError

    @cached_property
    def model(self) -> Any:
        """The model to train."""
        raise NotImplementedError

    @property
    def origin(self) -> dict[str, Any]:
        """What the model is made of: the parts `kb` and `corpus` of its record."""
        raise NotImplementedError

    @property
    def samples_per_step(self) -> int:
        """The samples of one step, on all devices together; torchrun and accelerate both say how many there are."""
        optim = self.config.optim
        return optim.batch_size * optim.gradient_accumulation * int(os.environ.get("WORLD_SIZE") or 1)


@dataclass(frozen=True)
class TrainingContext(RunContext[C]):
    """A training run on a dataset, or on a knowledge base alone."""

    @property
    def origin(self) -> dict[str, Any]:
        """The knowledge base and the dataset."""
        return {
            "kb": {"digest": self.kb.digest, "concepts": len(self.kb), "names": len(self.kb.names)},
            "corpus": _described(self.dataset) if self.dataset else {},
        }

    @cached_property
    def dataset(self) -> PreparedDataset | None:
        """The dataset, if one is named."""
        name = self.config.data.dataset
        return open_dataset(name, self.data) if name else None

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base whose names are learnt."""
        own = self.dataset.kb_folder if self.dataset else None
        if not (self.config.data.kb or own):
            raise ConfigError("config-invalid", "no knowledge base is named", fix="name its folder as data.kb")
        return KnowledgeBase.open(self.config.data.kb or str(own), verify="full")  # samples are drawn from all of it

    @property
    def dev_kb(self) -> KnowledgeBase:
        """The knowledge base that dev is linked to."""
        return KnowledgeBase.open(self.config.dev.kb) if self.config.dev.kb else self.kb

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
        """The samples of the whole run, on all devices together."""
        return self.config.optim.steps * self.samples_per_step

    def _documents(self, splits: tuple[str, ...]) -> list[Document]:
        if self.dataset is None:
            raise ConfigError("config-invalid", "no dataset is named", fix="name one as data.dataset")
        return [doc for split in splits for doc in self.dataset.documents(split)]


def _described(dataset: PreparedDataset) -> dict[str, Any]:
    return {"name": dataset.name, "digest": dataset.digest, "overlap": dataset.report.get("overlap", {})}
