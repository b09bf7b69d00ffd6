"""What the collective stage opens: both encoders, the heads, the evaluation."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from onym.errors import ConfigError
from onym.index.vectors import NameVectors, open_derived_vectors
from onym.models.collective import HEADS, NAMES, Collective, CollectiveSettings, Heads, heads_bytes
from onym.models.encoder import Reading
from onym.models.settings import EncoderSettings, read_settings
from onym.models.tokens import FILE, Tokenizer
from onym.models.torch_encoder import Encoder
from onym.store.models import weight_files
from onym.text.analysis import expand_abbreviations
from onym.text.normal import normal_name
from onym.train.collective.config import CollectiveTrainingConfig
from onym.train.collective.dev import CollectiveDev, inference_model
from onym.train.collective.module import CollectiveModule
from onym.train.context import TrainingContext
from onym.train.dev import dev_documents, dev_names
from onym.train.samples.mention_pairs import MentionPairs, Query
from onym.train.samples.targets import DocMention, concepts_of
from onym.train.start import open_document_encoder, open_encoder
from onym.types import Document, DocumentKey

_log = logging.getLogger("onym.train")


@dataclass(frozen=True)
class CollectiveContext(TrainingContext[CollectiveTrainingConfig]):
    """What the training of a collective model works with. `tuned` has the settings that are known only after it."""

    tuned: dict[str, float] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, bytes]:
        """The files besides the weights: tokenizers, settings, and the heads."""
        own = {
            FILE: self.tokenizer.data,
            CollectiveSettings.FILE: self.settings.to_bytes(),
            HEADS: heads_bytes(self.model.heads),
        }
        if self.model.names is None:
            return own
        names = {FILE: self.reading.tokenizer.data, EncoderSettings.FILE: self.reading.settings.to_bytes()}
        if self.config.start.freeze_names:  # byte for byte, so that an index made with them is one of this model too
            folder = Path(self.names_folder)
            names |= {path.name: path.read_bytes() for path in (folder / "config.json", *weight_files(folder))}
        return own | {f"{NAMES}/{name}": data for name, data in names.items()}

    @property
    def settings(self) -> CollectiveSettings:
        """The settings of the model; the threshold is added once it is tuned."""
        start = self.config.start
        if start.detect == "none" and not self.config.loss.link:
            raise ConfigError("config-invalid", "the model would learn nothing", fix="set start.detect or loss.link")
        return CollectiveSettings(
            window=start.window,
            overlap=start.overlap,
            represent=start.represent,
            detect=start.detect,
            max_span_tokens=start.max_span_tokens,
            threshold=self.tuned.get("threshold", 0.5),
            links=self.config.loss.link > 0,
            dim=self.model.heads.dim,
        )

    @cached_property
    def model(self) -> CollectiveModule:
        """The module to train, in fp32."""
        start, is_linking = self.config.start, self.config.loss.link > 0
        _log.info("opening the model %s", start.model)
        body = open_document_encoder(Path(start.model), start, start.window)
        names = open_encoder(Path(self.names_folder), start) if is_linking else None
        torch.manual_seed(self.config.optim.seed)
        dim = int((names or body).config.hidden_size)
        heads = Heads(int(body.config.hidden_size), dim, start.represent, start.detect)
        module = CollectiveModule(body, names, heads, self._names_settings, self.config.loss, freeze_names=start.freeze_names)
        self.on_device(module)
        return module

    @property
    def names_folder(self) -> str:
        """The encoder of names to start from."""
        return self.config.start.names or self.config.start.model

    @cached_property
    def _names_settings(self) -> EncoderSettings:
        return read_settings(Path(self.names_folder))

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of documents."""
        return Tokenizer.open(self.config.start.tokenizer or self.config.start.model)

    @cached_property
    def reading(self) -> Reading:
        """How names are tokenised."""
        return Encoder(self.model.names, Tokenizer.open(self.names_folder), self._names_settings).reading

    @cached_property
    def frozen(self) -> NameVectors | None:
        """The embeddings of all names, if the encoder of names is frozen."""
        if not self.config.start.freeze_names:
            return None
        return open_derived_vectors(self.kb, Encoder.open(Path(self.names_folder), device=str(self.device)))

    @cached_property
    def _linkable(self) -> dict[tuple[DocumentKey, int, int], tuple[DocMention, DocMention]]:
        """The mentions to link, each also with its abbreviation expanded, by document and offsets."""
        return {
            (doc.key, mention.start, mention.end): ((doc, mention), expanded)
            for doc in self.documents
            for mention, expanded in zip(doc.mentions, expand_abbreviations(doc), strict=True)
            if normal_name(expanded[1].surface) and concepts_of(mention, self.kb)
        }

    @property
    def linkable(self) -> list[DocMention]:
        """The mentions to link: those whose concepts are in the knowledge base."""
        return [mention for mention, _ in self._linkable.values()]

    @cached_property
    def queries(self) -> list[Query]:
        """The same mentions as queries, with abbreviations expanded."""
        expanded = [mention for _, mention in self._linkable.values()]
        return MentionPairs(expanded, self.kb, count=0, similar=self.config.data.similar).queries

    def inference_model(self, module: Any) -> Collective:
        """Return a copy of a module in training, for inference."""
        names = self.reading.tokenizer if module.names is not None else self.tokenizer
        return inference_model(module, self.tokenizer, names, self.settings)

    @cached_property
    def dev(self) -> CollectiveDev | None:
        """The evaluation on dev, if it is not disabled: on whole documents that have about so many mentions."""
        config = self.config.dev
        if self.dataset is None or not config.mentions:
            return None
        _log.info("preparing the evaluation on %s", config.split)
        kb, documents = self.dev_kb, _with_mentions(list(self.dataset.documents(config.split)), config.mentions)
        names = dev_names(dev_documents(documents, 0), kb, config.names) if self.model.names is not None else None
        return CollectiveDev(documents, kb, self.inference_model, names)


def _with_mentions(documents: list[Document], count: int) -> list[Document]:
    """Return documents, evenly spaced, that have about so many mentions together."""
    total = sum(len(doc.mentions) for doc in documents)
    step = max(1.0, total / count)
    return [documents[int(number * step)] for number in range(int(len(documents) / step))]
