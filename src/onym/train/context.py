"""What every recipe opens before it begins, whatever is trained: the corpus, the knowledge base, the mentions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from onym.datasets import PreparedDataset
from onym.datasets.cached import open_dataset
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.store.output import whole_file
from onym.train.config import AlignConfig, CollectiveConfig, TrainConfig
from onym.train.samples.mentions import mentions_of
from onym.train.samples.targets import Place

C = TypeVar("C", TrainConfig, AlignConfig, CollectiveConfig)


@dataclass(frozen=True)
class Surroundings(Generic[C]):
    """A training's surroundings. `work` is where checkpoints and logs go; `data` holds the files of corpora never prepared.

    `say` is told of all that takes a while.
    """

    config: C
    work: Path
    data: Path | None = None
    say: Callable[[str], None] = field(default=lambda _what: None, repr=False)

    def require_same(self) -> None:
        """Refuse to go on with a training that was begun with another configuration."""
        path, own = self.work / "config.json", self.config.model_dump_json(indent=1).encode() + b"\n"
        if path.is_file():
            if json.loads(path.read_bytes()) != json.loads(own):
                fix = "name another folder, or remove this one"
                what = "a training with another configuration was begun there"
                raise ConfigError("training-other", what, where=str(self.work), fix=fix)
            return
        with whole_file(path, force=True) as file:  # of several processes each may be the first
            file.write(own)

    @property
    def files(self) -> dict[str, bytes]:
        """What a trained model needs beside its weights, by the names of files."""
        raise NotImplementedError

    @cached_property
    def model(self) -> Any:
        """The model, to be trained."""
        raise NotImplementedError

    @cached_property
    def benchmark(self) -> PreparedDataset | None:
        """The corpus, where one is named."""
        if not self.config.data.benchmark:
            return None
        self.say(f"opening the corpus {self.config.data.benchmark}")
        return open_dataset(self.config.data.benchmark, self.data)

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base whose names are learnt."""
        own = self.benchmark.kb_folder if self.benchmark else None
        if not (self.config.data.kb or own):
            raise ConfigError("config-invalid", "no knowledge base is named", fix="name its folder as data.kb")
        return KnowledgeBase.open(self.config.data.kb or str(own))

    @property
    def dev_kb(self) -> KnowledgeBase:
        """The knowledge base that dev is linked to."""
        return KnowledgeBase.open(self.config.dev.kb) if self.config.dev.kb else self.kb

    @cached_property
    def places(self) -> list[Place]:
        """The mentions that are learnt from."""
        if self.benchmark is None:
            raise ConfigError("config-invalid", "no corpus is named", fix="name a benchmark as data.benchmark")
        data = self.config.data
        documents = (doc for split in data.splits for doc in self.benchmark.documents(split))
        return mentions_of(documents, without=(doc for split in data.without for doc in self.benchmark.documents(split)))

    @property
    def step_samples(self) -> int:
        """How many samples a step sees, on all devices together; torchrun and accelerate both say how many there are."""
        optim = self.config.optim
        return optim.batch * optim.accumulation * int(os.environ.get("WORLD_SIZE") or 1)

    @property
    def samples_seen(self) -> int:
        """How many samples the training sees in all, on all devices together."""
        return self.config.optim.steps * self.step_samples
