"""The collective stage (Bhowmik et al.): mentions are detected and pulled to names of their concepts, a document at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from onym.detect.base import Span, resolve_overlaps
from onym.detect.spans import score_spans, select_types, tag_spans, word_edges
from onym.errors import ConfigError
from onym.evaluate.cases import ConceptResolver
from onym.index.build import index_in_memory, open_derived_index
from onym.index.vectors import NameVectors, open_derived_vectors
from onym.kb import KnowledgeBase
from onym.linkers.collective import CollectiveLinker
from onym.models.collective import (
    BEGIN,
    HEADS,
    INSIDE,
    NAMES,
    OUTSIDE,
    Collective,
    CollectiveSettings,
    Detect,
    Heads,
    heads_bytes,
)
from onym.models.documents import ReadText, windows
from onym.models.encoder import TokenBatch
from onym.models.settings import EncoderSettings, read_settings
from onym.models.tokens import FILE, Tokenizer
from onym.models.torch_encoder import Encoder
from onym.models.torch_loading import in_precision
from onym.store.models import weight_files
from onym.store.output import whole_file
from onym.text.analysis import analyse, expand_abbreviations
from onym.text.normal import normal_name
from onym.train.configs import CollectiveTrainingConfig
from onym.train.context import TrainingContext, dev_documents, dev_names, dev_recall
from onym.train.document_model import (
    THRESHOLDS,
    CollectiveModule,
    CollectiveTrainer,
    DocumentWindow,
    f1,
    inference_model,
    window_batch,
    window_room,
)
from onym.train.samples.base import Batch, Ints, OrderedList
from onym.train.samples.mentions import DocMention, MentionPairs, Query, concepts_of
from onym.train.samples.pairs import Floats, Negatives
from onym.train.start import open_document_encoder, open_encoder
from onym.types import Document, DocumentKey, Mention

_log = logging.getLogger("onym.train")
_POOLS = "pools.npy"
NOT_LINKED = -1
"""The number of a mention that is only to be detected."""
_TOP = 5
Offsets = tuple[int, int]


def collective(context: CollectiveContext) -> CollectiveTrainer:
    """Train on the documents of a dataset; an interrupted run resumes."""
    start, tokenizer, seed = context.config.start, context.tokenizer, context.config.optim.seed
    room = window_room(tokenizer, start.window)
    windows = TrainingWindows(context.documents, context.linkable, tokenizer, room=room, overlap=start.overlap, seed=seed)
    optim = context.config.optim.with_steps_of(windows.epoch, context.samples_per_step)
    _log.info("%d windows in an epoch; %d steps", windows.epoch, optim.steps)
    negatives = _negatives(context) if context.model.names is not None else None
    trainer = CollectiveTrainer(
        context.model,
        windows.with_count(optim.steps * context.samples_per_step),
        WindowCollate(context.tokenizer, context.model.config.pad_token_id, start.detect, start.max_span_tokens),
        context.work,
        optim,
        reading=context.reading if negatives else None,
        negatives=negatives,
        frozen_names=context.name_vectors.rows if negatives and context.name_vectors is not None else None,
        mine=_miner(context, negatives) if negatives else None,
        dev=context.dev,
        patience=context.config.dev.patience,
    )
    trainer.resume()
    if "dev_threshold" in (metrics := trainer.metrics()):
        context.tuned["threshold"] = metrics["dev_threshold"]
    return trainer


def _negatives(context: CollectiveContext) -> Negatives:
    data = context.config.data
    return Negatives(
        context.queries,
        context.kb,
        _pools(context),
        hard=data.hard_negatives,
        random=data.random_negatives,
        similar=data.similar,
        seed=context.config.optim.seed,
    )


def _pools(context: CollectiveContext) -> Ints:
    """Return the names nearest to each mention among all, by the model before the training; they are kept."""
    path = context.work / _POOLS
    if path.is_file():
        found: Ints = np.load(path, allow_pickle=False)
        return found
    _log.info("embedding the knowledge base and the dataset, to mine hard negatives")
    names = Encoder.open(Path(context.names_folder), device=str(context.device))
    index = open_derived_index(context.kb, names)
    pools = index.search(mention_vectors(context, context.model), context.config.data.pool)[1].astype(np.int64)
    data = BytesIO()
    np.save(data, pools, allow_pickle=False)
    with whole_file(path, force=True) as file:
        file.write(data.getvalue())
    return pools


def _miner(context: CollectiveContext, negatives: Negatives) -> Callable[[Any], None]:
    def mine(module: Any) -> None:
        negatives.mine(mention_vectors(context, module), name_vectors(context, module, negatives.names))

    return mine


def name_vectors(context: CollectiveContext, module: Any, names: Ints) -> Floats:
    """Return the embeddings of names: the stored ones of a frozen encoder, else by the current model. *Shape:* (names, dim)."""
    if context.name_vectors is not None:
        return context.name_vectors.rows(names)
    encoder = Encoder(in_precision(module.names, "auto"), context.reading.tokenizer, module.settings)
    return encoder.encode([context.kb.names[name] for name in names.tolist()])


def mention_vectors(context: CollectiveContext, module: Any) -> Floats:
    """Return the embeddings of all mentions to link, by the current model. *Shape:* (mentions, dim)."""
    found = np.zeros((len(context.linkable), module.heads.dim), dtype=np.float32)
    numbers = {(doc.key, mention.start, mention.end): number for number, (doc, mention) in enumerate(context.linkable)}
    vectors, rows = context.inference_model(module).mention_vectors(context.documents)
    for vector, (at, of) in zip(vectors, rows, strict=True):
        doc = context.documents[at]
        number = numbers.get((doc.key, doc.mentions[of].start, doc.mentions[of].end))
        if number is not None:
            found[number] = vector
    return found


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
    def reading(self) -> TokenBatch:
        """How names are tokenised."""
        return Encoder(self.model.names, Tokenizer.open(self.names_folder), self._names_settings).reading

    @cached_property
    def name_vectors(self) -> NameVectors | None:
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


@dataclass(frozen=True, slots=True)
class TrainingWindow(DocumentWindow):
    """A window of a document. `spans` are the mentions wholly inside it: first token, last token + 1, number.

    Tokens count from the start of the document. A mention's number is its index among those to link, or NOT_LINKED.
    """

    spans: tuple[tuple[int, int, int], ...]


class TrainingWindows(OrderedList[TrainingWindow]):
    """`count` windows of documents, each seen once in an epoch, in an order by `seed`.

    They are the windows of inference, `room` tokens long: they do not depend on mentions. `linkable` are the mentions to link;
    the others of the documents are only to be detected.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        linkable: Sequence[DocMention],
        tokenizer: Tokenizer,
        *,
        room: int,
        overlap: int,
        count: int = 0,
        seed: int = 0,
    ) -> None:
        numbers = {(doc.key, mention.start, mention.end): number for number, (doc, mention) in enumerate(linkable)}
        found = [window for doc in documents for window in _windows(doc, tokenizer, numbers, room, overlap)]
        super().__init__(found, count, seed)


def _windows(
    doc: Document, tokenizer: Tokenizer, numbers: dict[tuple[DocumentKey, int, int], int], room: int, overlap: int
) -> list[TrainingWindow]:
    tokens = tokenizer.tokenize_with_offsets(doc.text)
    spans = [
        (*span, numbers.get((doc.key, mention.start, mention.end), NOT_LINKED))
        for mention in doc.mentions
        if mention.concept_ids and (span := tokens.span(mention.start, mention.end))
    ]
    return [
        TrainingWindow(doc, tokens, window, tuple(span for span in spans if window.start <= span[0] and span[1] <= window.end))
        for window in windows(len(tokens), room, overlap)
    ]


@dataclass(frozen=True, slots=True)
class WindowCollate:
    """Makes a batch of windows.

    *Shape:* `input_ids` and `attention_mask` (windows, tokens). All offsets count through the batch, row after row: of mentions
    to link `firsts` and `lasts` (mentions,), with their `numbers`; of all spans of whole words `span_firsts`, `span_lasts` and
    `is_mention` (spans,); or the first tokens of all `words`, with their `tags`.
    """

    tokenizer: Tokenizer
    pad: int
    detect: Detect
    max_span_tokens: int

    def __call__(self, windows: Sequence[TrainingWindow]) -> Batch:
        """Return the batch of windows, in their order."""
        batch, shifts = window_batch(self.tokenizer, windows, self.pad)
        mentions = [
            (first + shift, last + shift, number)
            for shift, each in zip(shifts, windows, strict=True)
            for first, last, number in each.spans
            if number != NOT_LINKED
        ]
        firsts, lasts, numbers = torch.tensor(mentions, dtype=torch.long).reshape(-1, 3).unbind(1)
        batch |= {"firsts": firsts, "lasts": lasts, "numbers": numbers}
        if self.detect == "spans":
            batch |= self._spans(windows, shifts)
        elif self.detect == "tags":
            batch |= self._tags(windows, shifts)
        return batch

    def _spans(self, windows: Sequence[TrainingWindow], shifts: Sequence[int]) -> Batch:
        spans, marks = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.bool_)]
        for each, shift in zip(windows, shifts, strict=True):
            found = each.word_spans(self.max_span_tokens)
            gold = {span[:2] for span in each.spans}
            spans.append(found + shift)
            marks.append(np.array([tuple(span) in gold for span in found.tolist()], dtype=np.bool_))
        firsts, lasts = torch.from_numpy(np.concatenate(spans)).unbind(1)
        return {"span_firsts": firsts, "span_lasts": lasts, "is_mention": torch.from_numpy(np.concatenate(marks))}

    def _tags(self, windows: Sequence[TrainingWindow], shifts: Sequence[int]) -> Batch:
        words, tags = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for each, shift in zip(windows, shifts, strict=True):
            own = _bio_tags(each)
            found = np.flatnonzero(word_edges(each.doc.text, each.tokens)[0])
            found = found[(found >= each.window.start) & (found < each.window.end)]
            words.append(found + shift)
            tags.append(own[found])
        return {"words": torch.from_numpy(np.concatenate(words)), "tags": torch.from_numpy(np.concatenate(tags))}


def _bio_tags(window: TrainingWindow) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the tag of each token of the document; of nested mentions the outermost counts."""
    tags = np.full(len(window.tokens), OUTSIDE, dtype=np.int64)
    for first, last, _ in sorted(window.spans, key=lambda span: span[0] - span[1]):
        if (tags[first:last] == OUTSIDE).all():
            tags[first:last] = INSIDE
            tags[first] = BEGIN
    return tags


@dataclass(frozen=True)
class CollectiveDev:
    """Evaluates on the same documents each time. `dev_f1` is that of mentions detected and linked, or of the one task trained.

    A detected mention is right if its span is in the gold and, if the model links, its concept too. `dev_threshold` is the best
    threshold. `names` are those to search among: fewer names are easier than all, so the scores only compare models.
    """

    documents: Sequence[Document]
    kb: KnowledgeBase
    open: Callable[[Any], Collective]
    names: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return sum(len(doc.mentions) for doc in self.documents)

    def __call__(self, module: Any) -> dict[str, float]:
        """Return the scores of a model, which is left unchanged. A document is read once for all of them."""
        return replace(self, documents=[analyse(doc) for doc in self.documents]).scores(self.open(module))

    def scores(self, model: Collective) -> dict[str, float]:
        """Return the scores of a model that is open."""
        linker = None
        if model.names is not None:
            linker = CollectiveLinker(self.kb, model, index_in_memory(self.kb, model.names, self.names))
        recall = self._recall(linker) if linker else {}
        if model.settings.detect == "none":
            return {"dev_f1": recall["dev_r1"], **recall}
        threshold, found = self._detect(model)
        spans = f1(self._gold_spans(), found)
        return {
            "dev_f1": self._f1_of_links(linker, found) if linker else spans,
            "dev_spans_f1": spans,
            "dev_threshold": threshold,
        } | recall

    def _recall(self, linker: CollectiveLinker) -> dict[str, float]:
        """Return recall, any-id, on the gold mentions."""
        return dev_recall(linker, self.documents, ConceptResolver(self.kb), top_k=_TOP)

    def _detect(self, model: Collective) -> tuple[float, list[list[Offsets]]]:
        """Return the best threshold, and the spans that it detects in each document."""
        spans = spans_by_threshold(model, self.documents)
        gold = self._gold_spans()
        best = max(THRESHOLDS, key=lambda threshold: f1(gold, spans[threshold]))
        return best, spans[best]

    def _gold_spans(self) -> list[list[Offsets]]:
        return [[(mention.start, mention.end) for mention in doc.mentions if mention.concept_ids] for doc in self.documents]

    def _f1_of_links(self, linker: CollectiveLinker, found: list[list[Offsets]]) -> float:
        """Return F1 of spans with their concepts."""
        detected = [_with(doc, spans) for doc, spans in zip(self.documents, found, strict=True)]
        linked = [
            [
                (link.mention.start, link.mention.end, self.kb.concept_ids.find(link.concept_id))
                for link in each.links
                if link.concept_id
            ]
            for each in linker.link(detected, top_k=_TOP)
        ]
        gold = [
            [(mention.start, mention.end, concept) for mention in doc.mentions for concept in concepts_of(mention, self.kb)]
            for doc in self.documents
        ]
        return f1(gold, linked)


def spans_by_threshold(model: Collective, documents: Sequence[Document]) -> dict[float, list[list[Offsets]]]:
    """Return the spans that each threshold detects in each document."""
    found: dict[float, list[list[Offsets]]] = {threshold: [] for threshold in THRESHOLDS}
    for doc, read in zip(documents, model.reader.read(documents), strict=True):
        for threshold, spans in _spans_at_thresholds(model, doc.text, read):
            found[threshold].append([(span.start, span.end) for span in spans])
    return found


def _spans_at_thresholds(model: Collective, text: str, read: ReadText) -> list[tuple[float, list[Span]]]:
    if model.settings.detect == "tags":
        return [(threshold, tag_spans(model, text, read, threshold)) for threshold in THRESHOLDS]
    spans = score_spans(model, text, read, select_types(model.settings, threshold=THRESHOLDS[0]))
    return [(each, resolve_overlaps(span for span in spans if span.score >= each)) for each in THRESHOLDS]


def _with(doc: Document, spans: Sequence[Offsets]) -> Document:
    mentions = tuple(Mention(start, end, doc.text[start:end]) for start, end in spans)
    return Document(doc.id, doc.text, mentions, source=doc.source, ordinal=doc.ordinal)
