"""What the recipe for a model that reads documents opens: both encoders, the heads, the dev score."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from onym.encoders.collective import HEADS, NAMES, Collective, CollectiveSettings, heads_bytes
from onym.encoders.encoder import Encoder
from onym.encoders.heads import Heads
from onym.encoders.reading import Reading
from onym.encoders.settings import EncoderSettings, read_settings
from onym.errors import ConfigError
from onym.index.vectors import NameVectors, open_derived_vectors
from onym.store.models import weight_files
from onym.text.expansion import expand_abbreviations
from onym.text.normal import normal_name
from onym.text.tokens import FILE, Tokenizer
from onym.train.collective.dev import CollectiveDev, opened
from onym.train.collective.module import CollectiveModule
from onym.train.config import CollectiveConfig
from onym.train.context import Surroundings
from onym.train.encoder.dev import asked_of, names_among
from onym.train.samples.mention_pairs import Asked, MentionPairs
from onym.train.samples.targets import Place, concepts_of
from onym.train.start import open_encoder
from onym.types import Document


@dataclass(frozen=True)
class CollectiveSetting(Surroundings[CollectiveConfig]):
    """The surroundings of a training of a model that reads documents. `tuned` is what is known only after it."""

    tuned: dict[str, float] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, bytes]:
        """What the model needs beside its weights: tokenizers, settings, and the heads."""
        own = {
            FILE: self.tokenizer.data,
            CollectiveSettings.FILE: self.settings.to_bytes(),
            HEADS: heads_bytes(self.model.heads),
        }
        if self.model.names is None:
            return own
        names = {FILE: self.reading.tokenizer.data, EncoderSettings.FILE: self.reading.settings.to_bytes()}
        if self.config.start.freeze_names:  # the files themselves, so that an index made with them is one of this model too
            folder = Path(self.names_folder)
            names |= {path.name: path.read_bytes() for path in (folder / "config.json", *weight_files(folder))}
        return own | {f"{NAMES}/{name}": data for name, data in names.items()}

    @property
    def settings(self) -> CollectiveSettings:
        """How documents are read, and what for; the threshold is told once it is tuned."""
        start = self.config.start
        if start.detect == "none" and not self.config.loss.link:
            raise ConfigError("config-invalid", "the model would learn nothing", fix="set start.detect or loss.link")
        return CollectiveSettings(
            window=start.window,
            overlap=start.overlap,
            represent=start.represent,
            detect=start.detect,
            longest=start.longest,
            links=self.config.loss.link > 0,
            wide=self.model.heads.wide,
            **self.tuned,
        )

    @cached_property
    def model(self) -> CollectiveModule:
        """The module, to be trained, in fp32."""
        start, is_linking = self.config.start, self.config.loss.link > 0
        self.say(f"opening the model {start.model}")
        body = open_encoder(Path(start.model), start)
        names = open_encoder(Path(self.names_folder), start) if is_linking else None
        torch.manual_seed(self.config.optim.seed)
        wide = int((names or body).config.hidden_size)
        heads = Heads(int(body.config.hidden_size), wide, start.represent, start.detect)
        return CollectiveModule(body, names, heads, self._names_settings, self.config.loss, freeze_names=start.freeze_names)

    @property
    def names_folder(self) -> str:
        """The encoder of names to begin with."""
        return self.config.start.names or self.config.start.model

    @cached_property
    def _names_settings(self) -> EncoderSettings:
        return read_settings(Path(self.names_folder))

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """What splits documents."""
        return Tokenizer.open(self.config.start.tokenizer or self.config.start.model)

    @cached_property
    def reading(self) -> Reading:
        """How names are read."""
        return Encoder(self.model.names, Tokenizer.open(self.names_folder), self._names_settings).reading

    @cached_property
    def frozen(self) -> NameVectors | None:
        """The vectors of all names, where the encoder of names stays as it is."""
        if not self.config.start.freeze_names:
            return None
        return open_derived_vectors(self.kb, Encoder.open(Path(self.names_folder)))

    @cached_property
    def documents(self) -> list[Document]:
        """The documents that are learnt from."""
        if self.benchmark is None:
            raise ConfigError("config-invalid", "no corpus is named", fix="name a benchmark as data.benchmark")
        return [doc for split in self.config.data.splits for doc in self.benchmark.documents(split)]

    @cached_property
    def _learnt(self) -> dict[tuple[str, int, int], tuple[Place, Place]]:
        """The mentions to be linked, and each with its abbreviation written out, by document and place."""
        return {
            (doc.id, mention.start, mention.end): ((doc, mention), long)
            for doc in self.documents
            for mention, long in zip(doc.mentions, expand_abbreviations(doc), strict=True)
            if normal_name(long[1].surface) and concepts_of(mention, self.kb)
        }

    @property
    def wanted(self) -> list[Place]:
        """The mentions to be linked: those whose concepts are known."""
        return [place for place, _ in self._learnt.values()]

    @cached_property
    def asked(self) -> list[Asked]:
        """What each of them means, and the name most like it, its abbreviation written out."""
        places = [long for _, long in self._learnt.values()]
        return MentionPairs(places, self.kb, count=0, similar=self.config.data.similar).asked

    def open(self, module: Any) -> Collective:
        """Return a module that is still learning as a model that can be asked."""
        names = self.reading.tokenizer if module.names is not None else self.tokenizer
        return opened(module, self.tokenizer, names, self.settings)

    @cached_property
    def dev(self) -> CollectiveDev | None:
        """The score on dev, where it is wished for: on all mentions of as many documents as have so many."""
        wanted = self.config.dev
        if self.benchmark is None or not wanted.mentions:
            return None
        self.say("preparing the score on dev")
        kb, documents = self.dev_kb, _with_mentions(list(self.benchmark.documents(wanted.split)), wanted.mentions)
        names = names_among(asked_of(documents, 0), kb, wanted.names) if self.model.names is not None else None
        return CollectiveDev(documents, kb, self.open, names)


def _with_mentions(documents: list[Document], count: int) -> list[Document]:
    """Return documents, evenly spread, that have about so many mentions together."""
    total = sum(len(doc.mentions) for doc in documents)
    step = max(1.0, total / count)
    return [documents[int(place * step)] for place in range(int(len(documents) / step))]
