"""What the stages of encoders open: the encoder, its input, the evaluation."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from onym.models.encoder import Reading
from onym.models.settings import EncoderSettings, read_settings
from onym.models.tokens import FILE, Tokenizer
from onym.models.torch_encoder import Encoder
from onym.train.context import TrainingContext
from onym.train.dev import dev_documents, dev_names
from onym.train.encoder.config import EncoderTrainingConfig
from onym.train.encoder.dev import EncoderDev
from onym.train.start import open_encoder

_log = logging.getLogger("onym.train")


@dataclass(frozen=True)
class EncoderContext(TrainingContext[EncoderTrainingConfig]):
    """What the training of an encoder works with."""

    @property
    def files(self) -> dict[str, bytes]:
        """The files besides the weights: the tokenizer, and how embeddings are made and compared."""
        return {FILE: self.reading.tokenizer.data, EncoderSettings.FILE: self.settings.to_bytes()}

    @cached_property
    def model(self) -> Any:
        """The model to train, in fp32."""
        start = self.config.start
        _log.info("opening the model %s", start.model)
        return self.on_device(open_encoder(Path(start.model), start))

    @cached_property
    def reading(self) -> Reading:
        """How it tokenises: as the encoder that it will be."""
        start = self.config.start
        own = read_settings(Path(start.model))
        settings = own.changed(pooling=start.pooling, similarity=start.similarity, length=start.length)
        return Encoder(self.model, Tokenizer.open(start.tokenizer or start.model), settings).reading

    @property
    def settings(self) -> EncoderSettings:
        """How its embeddings are made and compared."""
        return self.reading.settings

    @cached_property
    def dev(self) -> EncoderDev | None:
        """The evaluation on dev, if there is a dataset and it is not disabled."""
        config = self.config.dev
        if self.dataset is None or not config.mentions:
            return None
        _log.info("preparing the evaluation on %s", config.split)
        kb, documents = self.dev_kb, dev_documents(self.dataset.documents(config.split), config.mentions)
        return EncoderDev(documents, kb, self.reading.tokenizer, self.settings, dev_names(documents, kb, config.names))
