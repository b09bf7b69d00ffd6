"""The collective stage (Bhowmik et al.): encode a document once, detect its mentions, and link them to the nearest names."""

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

from onym.errors import ConfigError
from onym.evaluate.cases import ConceptResolver
from onym.kb import KnowledgeBase
from onym.methods.collective.documents import ReadText, windows
from onym.methods.collective.linker import CollectiveLinker
from onym.methods.collective.model import Collective, Heads, heads_bytes
from onym.methods.collective.settings import BEGIN, HEADS, INSIDE, NAMES, OUTSIDE, CollectiveSettings, Detect
from onym.methods.dense.index.build import index_in_memory, open_derived_index
from onym.methods.dense.index.vectors import NameVectors, open_derived_vectors
from onym.methods.detector import Span, resolve_overlaps
from onym.methods.tagger.spans import score_spans, select_types, tag_spans, word_edges
from onym.models.encoder import TokenBatch
from onym.models.settings import EncoderSettings, read_settings
from onym.models.tokens import FILE, Tokenizer
from onym.models.torch_encoder import Encoder
from onym.models.torch_loading import in_precision
from onym.pipeline import Pipeline, PipelineOptions
from onym.store.models import weight_files
from onym.store.output import whole_file
from onym.text.analysis import analyse
from onym.text.queries import queries_of, spell_out
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
from onym.train.configs import CollectiveTrainingConfig
from onym.train.context import TrainingContext, dev_documents, dev_names, dev_recall
from onym.train.dense.pairs import Floats, Negatives
from onym.train.samples.base import Batch, Ints, OrderedList
from onym.train.samples.mentions import DocMention, MentionPairs, Query, concepts_of
from onym.train.start import open_document_encoder, open_encoder
from onym.types import Document, DocumentKey, Mention

_log = logging.getLogger("onym.train")
_POOLS = "pools.npy"
NOT_LINKED = -1
"""Index of a mention that is detected but not linked: its concept is not in the knowledge base."""
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
    """Return the ids of the names nearest to each mention, by their embeddings before training. Cached in `work`."""
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
    """Return name embeddings (names, dim): stored embeddings if the name encoder is frozen, else from the current model."""
    if context.name_vectors is not None:
        return context.name_vectors.rows(names)
    encoder = Encoder(in_precision(module.names, "auto"), context.reading.tokenizer, module.settings)
    return encoder.encode([context.kb.names[name] for name in names.tolist()])


def mention_vectors(context: CollectiveContext, module: Any) -> Floats:
    """Return the embeddings of all linkable mentions from the current model. *Shape:* (mentions, dim)."""
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
    """Inputs of a collective training run. `tuned` has settings that are known only after training, such as the threshold."""

    tuned: dict[str, float] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, bytes]:
        """All files except the weights: tokenizers, settings and heads."""
        own = {
            FILE: self.tokenizer.data,
            CollectiveSettings.FILE: self.settings.to_bytes(),
            HEADS: heads_bytes(self.model.heads),
        }
        if self.model.names is None:
            return own
        names = {FILE: self.reading.tokenizer.data, EncoderSettings.FILE: self.reading.settings.to_bytes()}
        if self.config.start.freeze_names:  # copy the encoder's files, so that an index made with it stays valid
            folder = Path(self.names_folder)
            names |= {path.name: path.read_bytes() for path in (folder / "config.json", *weight_files(folder))}
        return own | {f"{NAMES}/{name}": data for name, data in names.items()}

    @property
    def settings(self) -> CollectiveSettings:
        """The settings of the model; before tuning, the threshold is 0.5."""
        start = self.config.start
        if start.detect == "none" and not self.config.loss.link:
            what = "the model would neither detect nor link"
            raise ConfigError("config-invalid", what, fix='set start.detect to "spans" or "tags", or loss.link above 0')
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
        """Folder of the pretrained encoder of names."""
        return self.config.start.names or self.config.start.model

    @cached_property
    def _names_settings(self) -> EncoderSettings:
        return read_settings(Path(self.names_folder))

    @cached_property
    def reading(self) -> TokenBatch:
        """The tokenisation of names."""
        return Encoder(self.model.names, Tokenizer.open(self.names_folder), self._names_settings).reading

    @cached_property
    def name_vectors(self) -> NameVectors | None:
        """The embeddings of all names if the encoder of names is frozen, else None."""
        if not self.config.start.freeze_names:
            return None
        return open_derived_vectors(self.kb, Encoder.open(Path(self.names_folder), device=str(self.device)))

    @cached_property
    def _linkable(self) -> dict[tuple[DocumentKey, int, int], tuple[DocMention, DocMention]]:
        """Linkable mentions by document and offsets: each mention as annotated, and with its abbreviation expanded."""
        return {
            (doc.key, mention.start, mention.end): ((doc, mention), spell_out(query) if query.definition else (doc, mention))
            for doc in self.documents
            for mention, query in zip(doc.mentions, queries_of(doc), strict=True)
            if query.text and concepts_of(mention, self.kb)
        }

    @property
    def linkable(self) -> list[DocMention]:
        """Mentions whose concepts are in the knowledge base."""
        return [mention for mention, _ in self._linkable.values()]

    @cached_property
    def queries(self) -> list[Query]:
        """The linkable mentions as queries, with abbreviations expanded."""
        expanded = [mention for _, mention in self._linkable.values()]
        return MentionPairs(expanded, self.kb, count=0, similar=self.config.data.similar).queries

    def inference_model(self, module: Any) -> Collective:
        """Return an inference copy of a module that is being trained."""
        names = self.reading.tokenizer if module.names is not None else self.tokenizer
        return inference_model(module, self.tokenizer, names, self.settings)

    @cached_property
    def dev(self) -> CollectiveDev | None:
        """The evaluation on whole dev documents with about `dev.mentions` mentions in total; None if disabled."""
        config = self.config.dev
        if self.dataset is None or not config.mentions:
            return None
        _log.info("preparing the evaluation on %s", config.split)
        kb, documents = self.dev_kb, _with_mentions(list(self.dataset.documents(config.split)), config.mentions)
        names = dev_names(dev_documents(documents, 0), kb, config.names) if self.model.names is not None else None
        return CollectiveDev(documents, kb, self.inference_model, names)


def _with_mentions(documents: list[Document], count: int) -> list[Document]:
    """Return evenly spaced documents that have about `count` mentions in total."""
    total = sum(len(doc.mentions) for doc in documents)
    step = max(1.0, total / count)
    return [documents[int(number * step)] for number in range(int(len(documents) / step))]


@dataclass(frozen=True, slots=True)
class TrainingWindow(DocumentWindow):
    """A window of a document. `spans` are the mentions entirely inside the window: (first token, last token + 1, number).

    Tokens are counted from the start of the document. The number is the index of a linkable mention, or NOT_LINKED.
    """

    spans: tuple[tuple[int, int, int], ...]


class TrainingWindows(OrderedList[TrainingWindow]):
    """`count` training windows of `room` tokens, shuffled by `seed`; an epoch has every window once.

    The windows are the same as at inference, so they do not depend on where mentions are. Mentions not in `linkable` are only
    detected.
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
    """Collate function for windows.

    *Shape:* `input_ids` and `attention_mask` (windows, tokens). Other keys index into the flattened batch (windows * tokens):
    linkable mentions have `firsts`, `lasts` and `numbers` (mentions,); spans of whole words have `span_firsts`, `span_lasts`
    and `is_mention` (spans,); with BIO tags instead of spans, the first tokens of words are `words`, with `tags` (words,).
    """

    tokenizer: Tokenizer
    pad: int
    detect: Detect
    max_span_tokens: int

    def __call__(self, windows: Sequence[TrainingWindow]) -> Batch:
        """Return the windows as one batch, in the given order."""
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
    """Return the BIO tag of each token of the document; only the outermost of nested mentions is tagged."""
    tags = np.full(len(window.tokens), OUTSIDE, dtype=np.int64)
    for first, last, _ in sorted(window.spans, key=lambda span: span[0] - span[1]):
        if (tags[first:last] == OUTSIDE).all():
            tags[first:last] = INSIDE
            tags[first] = BEGIN
    return tags


@dataclass(frozen=True)
class CollectiveDev:
    """Evaluation on a fixed set of documents. `dev_f1` is end-to-end F1, or the score of the only task that is trained.

    A detected mention is correct if its span is gold and, if the model links, its concept too. `dev_threshold` is the best
    threshold. `names` are the candidate names; fewer names make the task easier, so use the scores only to compare models.
    """

    documents: Sequence[Document]
    kb: KnowledgeBase
    open: Callable[[Any], Collective]
    names: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return sum(len(doc.mentions) for doc in self.documents)

    def __call__(self, module: Any) -> dict[str, float]:
        """Return the scores of a model without changing it. Each document is analysed once for all scores."""
        return replace(self, documents=[analyse(doc) for doc in self.documents]).scores(self.open(module))

    def scores(self, model: Collective) -> dict[str, float]:
        """Return the scores of an inference model."""
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
        """Return any-id recall on the gold mentions."""
        return dev_recall(linker, self.documents, ConceptResolver(self.kb), top_k=_TOP)

    def _detect(self, model: Collective) -> tuple[float, list[list[Offsets]]]:
        """Return the threshold with the best F1, and the spans detected with it in each document."""
        spans = spans_by_threshold(model, self.documents)
        gold = self._gold_spans()
        best = max(THRESHOLDS, key=lambda threshold: f1(gold, spans[threshold]))
        return best, spans[best]

    def _gold_spans(self) -> list[list[Offsets]]:
        return [[(mention.start, mention.end) for mention in doc.mentions if mention.concept_ids] for doc in self.documents]

    def _f1_of_links(self, linker: CollectiveLinker, found: list[list[Offsets]]) -> float:
        """Return F1 of the linked mentions; a mention is correct if both its span and its concept are gold."""
        detected = [_with(doc, spans) for doc, spans in zip(self.documents, found, strict=True)]
        linked = [
            [
                (link.mention.start, link.mention.end, self.kb.concept_ids.find(link.concept_id))
                for link in each.links
                if link.concept_id
            ]
            for each in Pipeline(linker, options=PipelineOptions(top_k=_TOP), bare=True).link_many(detected)
        ]
        gold = [
            [(mention.start, mention.end, concept) for mention in doc.mentions for concept in concepts_of(mention, self.kb)]
            for doc in self.documents
        ]
        return f1(gold, linked)


def spans_by_threshold(model: Collective, documents: Sequence[Document]) -> dict[float, list[list[Offsets]]]:
    """Return the spans detected in each document, for each threshold."""
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
