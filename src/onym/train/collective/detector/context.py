"""What the training of a detector opens: corpora, tokenizer, encoder and heads, the evaluation."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from onym.models.collective import HEADS, Collective, CollectiveSettings, Label, heads_bytes
from onym.models.settings import EncoderSettings
from onym.models.tokens import FILE, Tokenizer
from onym.train.collective.config import CollectiveLossConfig
from onym.train.collective.detector.config import DetectorTrainingConfig
from onym.train.collective.detector.corpora import LabelledCorpus, labelled_corpora
from onym.train.collective.detector.dev import DetectorDev
from onym.train.collective.dev import inference_model
from onym.train.collective.module import CollectiveModule
from onym.train.context import RunContext
from onym.train.corpora import OfCorpora, renamed
from onym.train.dev import evenly_spaced
from onym.train.start import open_document_encoder

_log = logging.getLogger("onym.train")


@dataclass(frozen=True)
class DetectorContext(OfCorpora, RunContext[DetectorTrainingConfig]):
    """What the training of a detector works with. `tuned` has the threshold of each label, known only after it."""

    tuned: dict[int, float] = field(default_factory=dict)

    @cached_property
    def _labelled(self) -> tuple[tuple[Label, ...], list[LabelledCorpus]]:
        return labelled_corpora(self.training, self.config.data)

    @property
    def labels(self) -> tuple[Label, ...]:
        """What spans are found to be, with the thresholds that are known."""
        return tuple(
            label.model_copy(update={"threshold": self.tuned.get(at, label.threshold)})
            for at, label in enumerate(self._labelled[0])
        )

    @property
    def corpora(self) -> list[LabelledCorpus]:
        """The training documents with their labels."""
        return self._labelled[1]

    @property
    def origin(self) -> dict[str, Any]:
        """What the model was made of."""
        return {"kb": {}, "corpus": {}, "corpora": [corpus.as_dict() for corpus in self.training]}

    @property
    def settings(self) -> CollectiveSettings:
        """The settings of the model."""
        start = self.config.start
        return CollectiveSettings(
            window=start.window,
            overlap=start.overlap,
            represent="mean",
            detect="spans",
            max_span_tokens=start.max_span_tokens,
            links=False,
            hidden=start.hidden,
            labels=self.labels,
        )

    @property
    def files(self) -> dict[str, bytes]:
        """The files besides the weights: tokenizer, settings, and the heads."""
        return {
            FILE: self.tokenizer.data,
            CollectiveSettings.FILE: self.settings.to_bytes(),
            HEADS: heads_bytes(self.model.heads),
        }

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of documents."""
        return Tokenizer.open(self.config.start.tokenizer or self.config.start.model)

    @cached_property
    def model(self) -> CollectiveModule:
        """The module to train, in fp32."""
        _log.info("opening the model %s", self.config.start.model)
        body = open_document_encoder(Path(self.config.start.model), self.config.start, self.config.start.window)
        torch.manual_seed(self.config.optim.seed)
        heads = self.settings.heads(int(body.config.hidden_size))
        module = CollectiveModule(body, None, heads, EncoderSettings(), CollectiveLossConfig())
        self.on_device(module)
        return module

    def inference_model(self, module: Any) -> Collective:
        """Return a copy of a module in training, for inference."""
        return inference_model(module, self.tokenizer, self.tokenizer, self.settings)

    @cached_property
    def dev(self) -> DetectorDev | None:
        """The evaluation on dev, if it is not disabled and a corpus has such a split."""
        config, columns = self.config.dev, {corpus.name: corpus.columns for corpus in self.corpora}
        if not config.documents:
            return None
        found = [
            LabelledCorpus(
                dataset.name,
                renamed(evenly_spaced(list(dataset.documents(config.split)), config.documents), self.config.data.types),
                columns[dataset.name],
            )
            for dataset in self.datasets
            if config.split in dataset.splits
        ]
        return DetectorDev(found, self.inference_model) if found else None
