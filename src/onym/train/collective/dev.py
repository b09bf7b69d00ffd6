"""The score that the training of a model that reads documents is watched by: mentions found and linked, as they will be."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.detect._overlaps import resolved
from onym.detect._spans import scored_spans
from onym.detect._tags import tagged_spans
from onym.detect.base import Span
from onym.encoders.collective import Collective, CollectiveSettings
from onym.encoders.documents import DocumentReader, ReadText
from onym.encoders.encoder import Encoder
from onym.encoders.loading import in_precision
from onym.evaluate.cases import ConceptResolver, gold_cases
from onym.evaluate.metrics import score
from onym.index.memory import index_in_memory
from onym.kb import KnowledgeBase
from onym.linkers.collective import CollectiveLinker
from onym.predictions.file import Predictions, predictions_of
from onym.text.analysis import analysed
from onym.text.tokens import Tokenizer
from onym.train.collective.module import CollectiveModule
from onym.train.samples.targets import concepts_of
from onym.types import Document, Mention

THRESHOLDS = tuple(step / 20 for step in range(2, 19))
_TOP = 5
Place = tuple[int, int]


def opened(module: CollectiveModule, tokenizer: Tokenizer, names: Tokenizer, settings: CollectiveSettings) -> Collective:
    """Return a module that is still learning as a model that can be asked. It is a copy."""
    reader = DocumentReader(in_precision(module.body, "auto"), tokenizer, length=settings.window, overlap=settings.overlap)
    heads = copy.deepcopy(module.heads).float().eval().requires_grad_(False)
    encoder = None if module.names is None else Encoder(in_precision(module.names, "auto"), names, module.settings)
    return Collective(reader, heads, settings, encoder)


@dataclass(frozen=True)
class CollectiveDev:
    """Reads the same documents each time. Of all figures `dev_f1` counts: of mentions found and linked, found, or linked.

    A found mention is right where the gold has the same span and, if the model links, means that concept. `dev_threshold` is
    the best one. `names` are those that are looked among: so few are easier than all, and the figures are for comparisons.
    """

    documents: Sequence[Document]
    kb: KnowledgeBase
    open: Callable[[Any], Collective]
    names: npt.NDArray[np.int64] | None = None

    def __call__(self, module: Any) -> dict[str, float]:
        """Return the scores of a model, which is left as it was. A document is read once for all of them."""
        return replace(self, documents=[analysed(doc) for doc in self.documents]).scores(self.open(module))

    def scores(self, model: Collective) -> dict[str, float]:
        """Return the scores of a model that is open."""
        linker = None
        if model.names is not None:
            linker = CollectiveLinker(self.kb, model, index_in_memory(self.kb, model.names, self.names))
        given = self._given(linker) if linker else {}
        if model.settings.detect == "none":
            return {"dev_f1": given["dev_r1"], **given}
        threshold, found = self._found(model)
        spans = f1(self._gold_spans(), found)
        return {
            "dev_f1": self._linked(linker, found) if linker else spans,
            "dev_spans_f1": spans,
            "dev_threshold": threshold,
        } | given

    def _given(self, linker: CollectiveLinker) -> dict[str, float]:
        """Return recall by any id where the mentions are given."""
        answers = Predictions.of(predictions_of(linker.link(self.documents, top_k=_TOP)), {}).answers
        scores = score(gold_cases(self.documents, lambda key: answers[key], ConceptResolver(self.kb)), "any-id")
        return {f"dev_r{k}": 100 * scores.recall[k] for k in (1, 5)}

    def _found(self, model: Collective) -> tuple[float, list[list[Place]]]:
        """Return the best threshold, and the spans that are found by it in each document."""
        tried = spans_by_threshold(model, self.documents)
        gold = self._gold_spans()
        best = max(THRESHOLDS, key=lambda threshold: f1(gold, tried[threshold]))
        return best, tried[best]

    def _gold_spans(self) -> list[list[Place]]:
        return [[(mention.start, mention.end) for mention in doc.mentions if mention.concept_ids] for doc in self.documents]

    def _linked(self, linker: CollectiveLinker, found: list[list[Place]]) -> float:
        """Return F1 where a span counts with the concept that it means."""
        asked = [_with(doc, places) for doc, places in zip(self.documents, found, strict=True)]
        linked = [
            [
                (link.mention.start, link.mention.end, self.kb.concept_ids.find(link.concept_id))
                for link in each.links
                if link.concept_id
            ]
            for each in linker.link(asked, top_k=_TOP)
        ]
        gold = [
            [(mention.start, mention.end, concept) for mention in doc.mentions for concept in concepts_of(mention, self.kb)]
            for doc in self.documents
        ]
        return f1(gold, linked)


def spans_by_threshold(model: Collective, documents: Sequence[Document]) -> dict[float, list[list[Place]]]:
    """Return the spans that are found in each document by each threshold."""
    found: dict[float, list[list[Place]]] = {threshold: [] for threshold in THRESHOLDS}
    for doc, read in zip(documents, model.reader.read(documents), strict=True):
        for threshold, spans in _tried(model, doc.text, read):
            found[threshold].append([(span.start, span.end) for span in spans])
    return found


def _tried(model: Collective, text: str, read: ReadText) -> list[tuple[float, list[Span]]]:
    if model.settings.detect == "tags":
        return [(threshold, tagged_spans(model, text, read, threshold)) for threshold in THRESHOLDS]
    spans = scored_spans(model, text, read, THRESHOLDS[0])
    return [(each, resolved(span for span in spans if span.score >= each)) for each in THRESHOLDS]


def f1(gold: Sequence[Sequence[tuple[int, ...]]], found: Sequence[Sequence[tuple[int, ...]]]) -> float:
    """Return F1 in percent, over all documents together.

    >>> f1([[(0, 5), (7, 9)]], [[(0, 5)]])
    66.66666666666667
    """
    right = sum(len(set(one) & set(other)) for one, other in zip(gold, found, strict=True))
    count = sum(len(set(each)) for each in (*gold, *found))
    return 100 * 2 * right / count if count else 0.0


def _with(doc: Document, places: Sequence[Place]) -> Document:
    mentions = tuple(Mention(start, end, doc.text[start:end]) for start, end in places)
    return replace(doc, mentions=mentions, relations=())
