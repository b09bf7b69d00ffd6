"""The evaluation of a collective model during training: mentions detected and linked, as in a pipeline."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.detect.base import Span
from onym.detect.overlaps import resolved
from onym.detect.spans import scored_spans, tagged_spans, wanted_types
from onym.evaluate.cases import ConceptResolver, gold_cases
from onym.evaluate.metrics import score
from onym.index.build import index_in_memory
from onym.kb import KnowledgeBase
from onym.linkers.collective import CollectiveLinker
from onym.models.collective import Collective, CollectiveSettings
from onym.models.documents import DocumentReader, ReadText
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import Encoder
from onym.models.torch_loading import in_precision
from onym.outputs.predictions import Predictions, predictions_of
from onym.text.analysis import analysed
from onym.train.collective.module import CollectiveModule
from onym.train.samples.targets import concepts_of
from onym.types import Document, Mention

THRESHOLDS = tuple(step / 20 for step in range(2, 19))
_TOP = 5
Offsets = tuple[int, int]
Item = tuple[int | str, ...]
"""What is right or wrong: a span, perhaps with a concept or a type."""


def inference_model(
    module: CollectiveModule, tokenizer: Tokenizer, names: Tokenizer, settings: CollectiveSettings
) -> Collective:
    """Return a copy of a module in training, for inference; `names` is the tokenizer of names."""
    reader = DocumentReader(in_precision(module.body, "auto"), tokenizer, length=settings.window, overlap=settings.overlap)
    heads = copy.deepcopy(module.heads).cpu().float().eval().requires_grad_(False)
    encoder = None if module.names is None else Encoder(in_precision(module.names, "auto"), names, module.settings)
    return Collective(reader, heads, settings, encoder)


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
        return replace(self, documents=[analysed(doc) for doc in self.documents]).scores(self.open(module))

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
            "dev_f1": self._linked_f1(linker, found) if linker else spans,
            "dev_spans_f1": spans,
            "dev_threshold": threshold,
        } | recall

    def _recall(self, linker: CollectiveLinker) -> dict[str, float]:
        """Return recall, any-id, on the gold mentions."""
        answers = Predictions.of(predictions_of(linker.link(self.documents, top_k=_TOP)), {}).answers
        scores = score(gold_cases(self.documents, lambda key: answers[key], ConceptResolver(self.kb)), "any-id")
        return {f"dev_r{k}": 100 * scores.recall[k] for k in (1, 5)}

    def _detect(self, model: Collective) -> tuple[float, list[list[Offsets]]]:
        """Return the best threshold, and the spans that it detects in each document."""
        spans = spans_by_threshold(model, self.documents)
        gold = self._gold_spans()
        best = max(THRESHOLDS, key=lambda threshold: f1(gold, spans[threshold]))
        return best, spans[best]

    def _gold_spans(self) -> list[list[Offsets]]:
        return [[(mention.start, mention.end) for mention in doc.mentions if mention.concept_ids] for doc in self.documents]

    def _linked_f1(self, linker: CollectiveLinker, found: list[list[Offsets]]) -> float:
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
        return [(threshold, tagged_spans(model, text, read, threshold)) for threshold in THRESHOLDS]
    spans = scored_spans(model, text, read, wanted_types(model.settings, threshold=THRESHOLDS[0]))
    return [(each, resolved(span for span in spans if span.score >= each)) for each in THRESHOLDS]


def f1(gold: Sequence[Sequence[Item]], found: Sequence[Sequence[Item]]) -> float:
    """Return F1 in percent, over all documents together.

    >>> f1([[(0, 5), (7, 9)]], [[(0, 5)]])
    66.66666666666667
    """
    right = sum(len(set(one) & set(other)) for one, other in zip(gold, found, strict=True))
    count = sum(len(set(each)) for each in (*gold, *found))
    return 100 * 2 * right / count if count else 0.0


def _with(doc: Document, spans: Sequence[Offsets]) -> Document:
    mentions = tuple(Mention(start, end, doc.text[start:end]) for start, end in spans)
    return Document(doc.id, doc.text, mentions, source=doc.source, ordinal=doc.ordinal)
