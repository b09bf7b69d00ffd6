"""What every recipe opens before it begins: the model, its layout, the corpus, the knowledge bases, the dev score."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from onym.corpora.benchmarks import Prepared
from onym.corpora.benchmarks.cached import open_benchmark
from onym.decoding.adapters import adapter_of
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.store.output import whole_file
from onym.text.layout import Layout
from onym.text.template import template_named
from onym.text.tokens import Tokenizer
from onym.train.collate import Collate
from onym.train.config import TrainConfig
from onym.train.dev import DevScore, every_nth
from onym.train.samples.mentions import mentions_of
from onym.train.samples.targets import Place
from onym.train.start import open_start


@dataclass(frozen=True)
class Setting:
    """A training's surroundings. `work` is where checkpoints and logs go; `data` holds the files of corpora never prepared.

    `say` is told of all that takes a while.
    """

    config: TrainConfig
    work: Path
    data: Path | None = None
    say: Callable[[str], None] = field(default=lambda _what: None, repr=False)

    def require_same(self) -> None:
        """Refuse to go on with a training that was begun with another configuration."""
        path, own = self.work / "config.json", self.config.model_dump_json(indent=1).encode() + b"\n"
        if path.is_file():
            if path.read_bytes() != own:
                fix = "name another folder, or remove this one"
                what = "a training with another configuration was begun there"
                raise ConfigError("training-other", what, where=str(self.work), fix=fix)
            return
        with whole_file(path, force=True) as file:  # of several processes each may be the first
            file.write(own)

    @cached_property
    def model(self) -> Any:
        """The model, to be trained."""
        start = self.config.start
        self.say(f"opening the model {start.model}")
        model = open_start(Path(start.model), dropout=start.dropout, attention_dropout=start.attention_dropout)
        if start.freeze_embeddings:
            model.get_input_embeddings().requires_grad_(False)
            model.get_output_embeddings().requires_grad_(False)
        return model

    @cached_property
    def layout(self) -> Layout:
        """How it reads and writes."""
        start = self.config.start
        tokens = Tokenizer.open(start.tokenizer or start.model)
        return Layout(template_named(start.template), tokens, start.window, adapter_of(self.model).longest)

    @cached_property
    def collate(self) -> Collate:
        """How its samples become tensors."""
        config = self.model.config
        return Collate(config.decoder_start_token_id, config.eos_token_id, config.pad_token_id, self.layout.longest)

    @cached_property
    def benchmark(self) -> Prepared | None:
        """The corpus, where one is named."""
        if not self.config.data.benchmark:
            return None
        self.say(f"opening the corpus {self.config.data.benchmark}")
        return open_benchmark(self.config.data.benchmark, self.data)

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base whose names are learnt."""
        own = self.benchmark.kb_folder if self.benchmark else None
        if not (self.config.data.kb or own):
            raise ConfigError("config-invalid", "no knowledge base is named", fix="name its folder as data.kb")
        return KnowledgeBase.open(self.config.data.kb or str(own))

    @cached_property
    def places(self) -> list[Place]:
        """The mentions that are learnt from."""
        if self.benchmark is None:
            raise ConfigError("config-invalid", "no corpus is named", fix="name a benchmark as data.benchmark")
        data = self.config.data
        documents = (doc for split in data.splits for doc in self.benchmark.documents(split))
        return mentions_of(documents, without=(doc for split in data.without for doc in self.benchmark.documents(split)))

    @cached_property
    def dev(self) -> DevScore | None:
        """The score on dev, where a corpus is named and it is wished for."""
        wanted = self.config.dev
        if self.benchmark is None or not wanted.mentions:
            return None
        kb = KnowledgeBase.open(wanted.kb) if wanted.kb else self.kb
        self.say("preparing the score on dev")
        places = every_nth(mentions_of(self.benchmark.documents(wanted.split)), wanted.mentions)
        return DevScore(places, kb, self.layout, wanted)

    @property
    def step_samples(self) -> int:
        """How many samples a step sees, on all devices together; torchrun and accelerate both say how many there are."""
        optim = self.config.optim
        return optim.batch * optim.accumulation * int(os.environ.get("WORLD_SIZE") or 1)

    @property
    def samples_seen(self) -> int:
        """How many samples the training sees in all, on all devices together."""
        return self.config.optim.steps * self.step_samples
