"""What the stages of generative models open: the model, its input and output, the evaluation."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from onym.decoding.adapters import adapter_of
from onym.linkers.generative import ModelSettings
from onym.models.template import Layout, template_named
from onym.models.tokens import FILE, Tokenizer
from onym.train.context import TrainingContext
from onym.train.dev import evenly_spaced
from onym.train.generative.collate import NameCollate
from onym.train.generative.config import GenerativeTrainingConfig
from onym.train.generative.dev import GenerativeDev
from onym.train.samples.mentions import mentions_of
from onym.train.start import open_start

_log = logging.getLogger("onym.train")


@dataclass(frozen=True)
class GenerativeContext(TrainingContext[GenerativeTrainingConfig]):
    """What the training of a generative model works with."""

    @property
    def files(self) -> dict[str, bytes]:
        """The files besides the weights: the tokenizer, and the settings of the linker."""
        start, dev = self.config.start, self.config.dev
        settings = ModelSettings(template=start.template, window=start.window, search=dev.search, ranking=dev.ranking)
        return {FILE: self.layout.tokens.data, ModelSettings.FILE: settings.to_bytes()}

    @cached_property
    def model(self) -> Any:
        """The model to train."""
        start = self.config.start
        _log.info("opening the model %s", start.model)
        model = open_start(Path(start.model), dropout=start.dropout, attention_dropout=start.attention_dropout)
        if start.freeze_embeddings:
            model.get_input_embeddings().requires_grad_(False)
            model.get_output_embeddings().requires_grad_(False)
        return self.on_device(model)

    @cached_property
    def layout(self) -> Layout:
        """How its input and output are laid out."""
        start = self.config.start
        tokens = Tokenizer.open(start.tokenizer or start.model)
        return Layout(template_named(start.template), tokens, start.window, adapter_of(self.model).max_positions)

    @cached_property
    def collate(self) -> NameCollate:
        """How its samples become tensors."""
        config = self.model.config
        return NameCollate(config.decoder_start_token_id, config.eos_token_id, config.pad_token_id, self.layout.max_tokens)

    @cached_property
    def dev(self) -> GenerativeDev | None:
        """The evaluation on dev, if there is a dataset and it is not disabled."""
        config = self.config.dev
        if self.dataset is None or not config.mentions:
            return None
        kb = self.dev_kb
        _log.info("preparing the evaluation on %s", config.split)
        mentions = evenly_spaced(mentions_of(self.dataset.documents(config.split)), config.mentions)
        return GenerativeDev(mentions, kb, self.layout, config)
