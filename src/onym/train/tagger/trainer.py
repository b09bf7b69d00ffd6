"""The detect stage: train a span detector on several corpora, with a probability for each annotated type."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from onym.datasets.training import TrainingCorpus
from onym.methods.collective.documents import windows
from onym.methods.collective.model import Collective, Heads, heads_bytes
from onym.methods.collective.settings import HEADS, CollectiveSettings, Label
from onym.methods.detector import Span, resolve_overlaps
from onym.methods.tagger.spans import WantedType, score_spans
from onym.models.settings import EncoderSettings
from onym.models.tokens import FILE, Tokenizer
from onym.train.collective.document_model import (
    THRESHOLDS,
    CollectiveModule,
    CollectiveTrainer,
    DocumentWindow,
    f1,
    inference_model,
    window_batch,
    window_room,
)
from onym.train.configs import CollectiveLossConfig, DetectorDataConfig, DetectorTrainingConfig
from onym.train.context import RunContext, space_evenly
from onym.train.corpora import OfCorpora, rename_types
from onym.train.samples.base import Batch, OrderedList
from onym.train.start import open_document_encoder
from onym.types import Document

_log = logging.getLogger("onym.train")
Found = list[list[Span]]


def detect(context: DetectorContext) -> CollectiveTrainer:
    """Train on the documents of all corpora; an interrupted run resumes."""
    start, tokenizer, seed = context.config.start, context.tokenizer, context.config.optim.seed
    for corpus in context.training:
        _log.info("%s", corpus.describe())
    room = window_room(tokenizer, start.window)
    windows = LabelledWindows(context.corpora, tokenizer, room=room, overlap=start.overlap, seed=seed)
    optim = context.config.optim.with_steps_of(windows.epoch, context.samples_per_step)
    _log.info("%d labels, %d windows in an epoch; %d steps", len(context.labels), windows.epoch, optim.steps)
    trainer = CollectiveTrainer(
        context.model,
        windows.with_count(optim.steps * context.samples_per_step),
        LabelledCollate(tokenizer, context.model.config.pad_token_id, len(context.labels), start.max_span_tokens),
        context.work,
        optim,
        dev=context.dev,
        patience=context.config.dev.patience,
    )
    trainer.resume()
    best = {name: value for name, value in trainer.metrics().items() if name.startswith("dev_threshold_")}
    context.tuned.update({int(name.removeprefix("dev_threshold_")): value for name, value in best.items()})
    return trainer


@dataclass(frozen=True)
class DetectorContext(OfCorpora, RunContext[DetectorTrainingConfig]):
    """Inputs of a detector training run. `tuned` has the threshold of each label, known only after training."""

    tuned: dict[int, float] = field(default_factory=dict)

    @cached_property
    def _labels_and_corpora(self) -> tuple[tuple[Label, ...], list[LabelledCorpus]]:
        return label_corpora(self.training, self.config.data)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels, with tuned thresholds if known."""
        return tuple(
            label.model_copy(update={"threshold": self.tuned.get(at, label.threshold)})
            for at, label in enumerate(self._labels_and_corpora[0])
        )

    @property
    def corpora(self) -> list[LabelledCorpus]:
        """The training documents with their labels."""
        return self._labels_and_corpora[1]

    @property
    def origin(self) -> dict[str, Any]:
        """The training inputs, for the training record."""
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
        """All files except the weights: tokenizer, settings and heads."""
        return {
            FILE: self.tokenizer.data,
            CollectiveSettings.FILE: self.settings.to_bytes(),
            HEADS: heads_bytes(self.model.heads),
        }

    @cached_property
    def model(self) -> CollectiveModule:
        """The module to train, in fp32."""
        _log.info("opening the model %s", self.config.start.model)
        body = open_document_encoder(Path(self.config.start.model), self.config.start, self.config.start.window)
        torch.manual_seed(self.config.optim.seed)
        heads = Heads.of(self.settings, int(body.config.hidden_size))
        module = CollectiveModule(body, None, heads, EncoderSettings(), CollectiveLossConfig())
        self.on_device(module)
        return module

    def inference_model(self, module: Any) -> Collective:
        """Return an inference copy of a module that is being trained."""
        return inference_model(module, self.tokenizer, self.tokenizer, self.settings)

    @cached_property
    def dev(self) -> DetectorDev | None:
        """The evaluation on dev; None if it is disabled or no corpus has the split."""
        config, columns = self.config.dev, {corpus.name: corpus.columns for corpus in self.corpora}
        if not config.documents:
            return None
        found = [
            LabelledCorpus(
                dataset.name,
                rename_types(space_evenly(list(dataset.documents(config.split)), config.documents), self.config.data.types),
                columns[dataset.name],
            )
            for dataset in self.datasets
            if config.split in dataset.splits
        ]
        return DetectorDev(found, self.inference_model) if found else None


@dataclass(frozen=True)
class LabelledCorpus:
    """Documents with renamed mention types, and the label column of each type that the corpus annotates."""

    name: str
    documents: tuple[Document, ...]
    columns: Mapping[str, int]


def label_corpora(
    corpora: Sequence[TrainingCorpus], config: DetectorDataConfig
) -> tuple[tuple[Label, ...], list[LabelledCorpus]]:
    """Return the labels and the labelled corpora. With `conventions`, there is a label per corpus and type, else per type.

    >>> from onym.types import Mention
    >>> def corpus(name, *types):
    ...     mentions = tuple(Mention(0, 3, "flu", ("a:1",), each) for each in types)
    ...     return TrainingCorpus(name, "", "", (Document("1", "flu", mentions),), {})
    >>> both = [corpus("one", "Disease", "Gene"), corpus("two", "Disease")]
    >>> for conventions in (True, False):
    ...     config = DetectorDataConfig(datasets=("one", "two"), conventions=conventions)
    ...     [each.columns for each in label_corpora(both, config)[1]]
    [{'Disease': 0, 'Gene': 1}, {'Disease': 2}]
    [{'Disease': 0, 'Gene': 1}, {'Disease': 0}]
    """
    labels: dict[tuple[str, str], int] = {}
    found = []
    for corpus in corpora:
        documents = rename_types(corpus.documents, config.types)
        types = sorted({mention.type for doc in documents for mention in doc.mentions})
        convention = corpus.name if config.conventions else ""
        columns = {name: labels.setdefault((convention, name), len(labels)) for name in types}
        found.append(LabelledCorpus(corpus.name, documents, columns))
    return tuple(Label(type=name, corpus=convention) for convention, name in labels), found


@dataclass(frozen=True, slots=True)
class LabelledWindow(DocumentWindow):
    """A window of a document, with the label columns of each mention span, and all columns that its corpus annotates."""

    mentions: dict[tuple[int, int], list[int]]
    columns: tuple[int, ...]


class LabelledWindows(OrderedList[LabelledWindow]):
    """`count` windows of the corpora's documents, shuffled by `seed`; an epoch has every window once."""

    def __init__(
        self,
        corpora: Sequence[LabelledCorpus],
        tokenizer: Tokenizer,
        *,
        room: int,
        overlap: int,
        count: int = 0,
        seed: int = 0,
    ) -> None:
        found = [
            window
            for corpus in corpora
            for doc in corpus.documents
            for window in _windows(doc, corpus.columns, tokenizer, room, overlap)
        ]
        super().__init__(found, count, seed)


def _windows(doc: Document, columns: Mapping[str, int], tokenizer: Tokenizer, room: int, overlap: int) -> list[LabelledWindow]:
    tokens = tokenizer.tokenize_with_offsets(doc.text)
    mentions: dict[tuple[int, int], list[int]] = {}
    for mention in doc.mentions:
        if mention.type in columns and (span := tokens.span(mention.start, mention.end)):
            mentions.setdefault(span, []).append(columns[mention.type])
    return [
        LabelledWindow(doc, tokens, window, mentions, tuple(columns.values())) for window in windows(len(tokens), room, overlap)
    ]


@dataclass(frozen=True, slots=True)
class LabelledCollate:
    """Collate function for windows.

    *Shape:* `input_ids` and `attention_mask` (windows, tokens). Spans of whole words have `span_firsts` and `span_lasts`
    (spans,), which index into the flattened batch (windows * tokens), and `is_mention` and `is_known` (spans, labels).
    """

    tokenizer: Tokenizer
    pad: int
    labels: int
    max_span_tokens: int

    def __call__(self, batch: Sequence[LabelledWindow]) -> Batch:
        """Return the windows as one batch, in the given order."""
        rows, shifts = window_batch(self.tokenizer, batch, self.pad)
        spans, is_mention, is_known = zip(*map(self._spans, batch), strict=True)
        firsts, lasts = torch.from_numpy(
            np.concatenate([each + shift for each, shift in zip(spans, shifts, strict=True)])
        ).unbind(1)
        return rows | {
            "span_firsts": firsts,
            "span_lasts": lasts,
            "is_mention": torch.from_numpy(np.concatenate(is_mention)),
            "is_known": torch.from_numpy(np.concatenate(is_known)),
        }

    def _spans(self, window: LabelledWindow) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return the spans of a window, with two masks (spans, labels): gold labels, and labels that its corpus annotates."""
        found = window.word_spans(self.max_span_tokens)
        is_mention, is_known = np.zeros((2, len(found), self.labels), dtype=np.bool_)
        is_known[:, window.columns] = True
        for row, span in enumerate(map(tuple, found.tolist())):
            if span in window.mentions:
                is_mention[row, window.mentions[span]] = True
        return found, is_mention, is_known


@dataclass(frozen=True)
class DetectorDev:
    """Evaluation on a fixed set of documents. `dev_f1` is the mean F1 over corpora, each with its best thresholds.

    `dev_threshold_N` is the best threshold of label column N. Each type's threshold is tuned separately; for the final F1,
    overlaps between mentions of different types are resolved as at inference.
    """

    corpora: Sequence[LabelledCorpus]
    open: Callable[[Any], Collective]

    def __len__(self) -> int:
        return sum(len(doc.mentions) for corpus in self.corpora for doc in corpus.documents)

    def __call__(self, module: Any) -> dict[str, float]:
        """Return the scores of a model without changing it."""
        model = self.open(module)
        figures: dict[str, float] = {}
        thresholds_by_column: dict[int, list[float]] = {}
        for corpus in self.corpora:
            candidates = [
                score_spans(model, doc.text, read, _select_types(corpus.columns))
                for doc, read in zip(corpus.documents, model.reader.read(corpus.documents), strict=True)
            ]
            thresholds = {name: _best_threshold(corpus, candidates, name) for name in corpus.columns}
            found = [_above(spans, thresholds) for spans in candidates]
            figures[f"dev_f1_{corpus.name}"] = _f1(corpus, found)
            for name, column in corpus.columns.items():
                thresholds_by_column.setdefault(column, []).append(thresholds[name])
        mean = float(np.mean(list(figures.values())))
        best = {f"dev_threshold_{column}": float(np.mean(values)) for column, values in sorted(thresholds_by_column.items())}
        return {"dev_f1": mean, **figures, **best}


def _select_types(columns: Mapping[str, int]) -> list[WantedType]:
    return [WantedType(name, (column,), THRESHOLDS[0]) for name, column in columns.items()]


def _best_threshold(corpus: LabelledCorpus, candidates: Found, name: str) -> float:
    own = [[span for span in spans if span.type == name] for spans in candidates]
    return max(THRESHOLDS, key=lambda least: _f1(corpus, [_above(spans, {name: least}) for spans in own], name))


def _above(spans: Sequence[Span], thresholds: Mapping[str, float]) -> list[Span]:
    return resolve_overlaps(span for span in spans if span.score >= thresholds[span.type])


def _f1(corpus: LabelledCorpus, found: Found, name: str = "") -> float:
    """Return F1 in percent, over all types or only over mentions of the type `name`."""
    gold = [[each for each in doc.mentions if not name or each.type == name] for doc in corpus.documents]
    items = ([[(each.start, each.end, each.type) for each in of_doc] for of_doc in side] for side in (gold, found))
    return f1(*items)
