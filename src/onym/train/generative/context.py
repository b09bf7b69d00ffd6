"""What recipes for models that write names open: the model, its layout, the dev score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from onym.decoding.adapters import adapter_of
from onym.linkers.generative import ModelSettings
from onym.text.layout import Layout
from onym.text.template import template_named
from onym.text.tokens import FILE, Tokenizer
from onym.train.config import TrainConfig
from onym.train.context import Surroundings
from onym.train.generative.collate import Collate
from onym.train.generative.dev import DevScore, every_nth
from onym.train.samples.mentions import mentions_of
from onym.train.start import open_start


@dataclass(frozen=True)
class Setting(Surroundings[TrainConfig]):
    """The surroundings of a training to write names."""

    @property
    def files(self) -> dict[str, bytes]:
        """What a trained model needs beside its weights: its tokenizer, and how it reads and searches."""
        start, dev = self.config.start, self.config.dev
        asked = ModelSettings(template=start.template, window=start.window, search=dev.search, ranking=dev.ranking)
        return {FILE: self.layout.tokens.data, ModelSettings.FILE: asked.to_bytes()}

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
    def dev(self) -> DevScore | None:
        """The score on dev, where a corpus is named and it is wished for."""
        wanted = self.config.dev
        if self.benchmark is None or not wanted.mentions:
            return None
        kb = self.dev_kb
        self.say("preparing the score on dev")
        places = every_nth(mentions_of(self.benchmark.documents(wanted.split)), wanted.mentions)
        return DevScore(places, kb, self.layout, wanted)
