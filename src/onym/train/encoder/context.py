"""What recipes for encoders open: the encoder, how it reads, the dev score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from onym.encoders.encoder import Encoder
from onym.encoders.reading import Reading
from onym.encoders.settings import EncoderSettings, read_settings
from onym.text.tokens import FILE, Tokenizer
from onym.train.config import AlignConfig
from onym.train.context import Surroundings
from onym.train.encoder.dev import EncoderDev, asked_of, names_among
from onym.train.start import open_encoder


@dataclass(frozen=True)
class EncoderSetting(Surroundings[AlignConfig]):
    """The surroundings of a training of an encoder."""

    @property
    def files(self) -> dict[str, bytes]:
        """What a trained encoder needs beside its weights: its tokenizer, and how its vectors are made and compared."""
        return {FILE: self.reading.tokenizer.data, EncoderSettings.FILE: self.settings.to_bytes()}

    @cached_property
    def model(self) -> Any:
        """The model, to be trained, in fp32."""
        start = self.config.start
        self.say(f"opening the model {start.model}")
        return open_encoder(Path(start.model), start)

    @cached_property
    def reading(self) -> Reading:
        """How it reads: as the encoder that it will be."""
        start = self.config.start
        own = read_settings(Path(start.model))
        wished = own.changed(pooling=start.pooling or None, similarity=start.similarity or None, length=start.length or None)
        return Encoder(self.model, Tokenizer.open(start.tokenizer or start.model), wished).reading

    @property
    def settings(self) -> EncoderSettings:
        """How its vectors are made and compared."""
        return self.reading.settings

    @cached_property
    def dev(self) -> EncoderDev | None:
        """The score on dev, where a corpus is named and it is wished for."""
        wanted = self.config.dev
        if self.benchmark is None or not wanted.mentions:
            return None
        self.say("preparing the score on dev")
        kb, documents = self.dev_kb, asked_of(self.benchmark.documents(wanted.split), wanted.mentions)
        return EncoderDev(documents, kb, self.reading.tokenizer, self.settings, names_among(documents, kb, wanted.names))
