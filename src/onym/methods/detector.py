"""The detector interface, spans with scores, and the resolution of overlapping spans.

A detector is one module, with a `Config`, an `open` function and the detector class; `onym.registry` has its short name.
Offsets count code points of the raw text, and a mention's surface is the text at its offsets.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import SerializeAsAny

from onym.corpora.problems import isolate
from onym.errors import InputError
from onym.parts import PartConfig, of_kind
from onym.registry import DETECTORS
from onym.types import Document, Mention, Problem


class DetectorConfig(PartConfig):
    """The configuration of a detector."""


AnyDetector = Annotated[SerializeAsAny[DetectorConfig], of_kind(DETECTORS)]
"""A field for the configuration of any detector, of the class that its `kind` names."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span of text that a detector considers a mention. The type may be empty (unknown).

    >>> Span(0, 5, 0.9).length
    5
    """

    start: int
    end: int
    score: float = 1.0
    type: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InputError("type-offsets", f"span {self.start}:{self.end} is empty, reversed or negative")

    @property
    def length(self) -> int:
        """The length in code points."""
        return self.end - self.start


def split_types(types: str | None) -> tuple[str, ...]:
    """Parse a comma-separated list of types.

    >>> split_types("Disease, Chemical"), split_types(None)
    (('Disease', 'Chemical'), ())
    """
    return tuple(name.strip() for name in (types or "").split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class Detected:
    """A document with its detected mentions, and their scores in the same order.

    If detection failed, the document has problems instead of mentions.
    """

    document: Document
    scores: tuple[float, ...] = ()
    problems: tuple[Problem, ...] = ()


class Detector(Protocol):
    """Finds mentions in raw text."""

    @property
    def config(self) -> dict[str, Any]:
        """The detector's name, and all settings that its results depend on except the knowledge base."""

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions found in its text; existing mentions are ignored and replaced."""


RejectionReason = Literal[
    "too-short",
    "no-letter",
    "too-general",
    "ordinary-word",
    "function-word",
    "other-spelling",
    "other-form",
    "other-abbreviation",
    "sentence-boundary",
    "unpaired-bracket",
    "other-source",
    "filtered",
    "overlapped",
    "below-threshold",
]
"""Why a name of the knowledge base in a text is not a mention."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A KB name in a text that a detector rejected as a mention; `detail` explains the reason in words."""

    start: int
    end: int
    surface: str
    reason: RejectionReason
    detail: str

    def as_dict(self) -> dict[str, Any]:
        """Return a dict of plain values; keys shared with `Explanation.as_dict` have the same meaning.

        >>> Rejection(0, 2, "MI", "too-short", "the name is too short").as_dict()["rejected"]
        'too-short'
        """
        offsets = {"start": self.start, "end": self.end, "text": self.surface}
        return {**offsets, "rejected": self.reason, "detail": self.detail}


@runtime_checkable
class FindsRejections(Detector, Protocol):
    """A detector that can report the KB names it rejected as mentions."""

    def find_rejections(self, document: Document) -> list[Rejection]:
        """Return the rejected names in a text, sorted by offset."""


def detect_batches(
    documents: Iterable[Document], find: Callable[[Sequence[Document]], Iterable[Sequence[Span]]], *, batch: int = 64
) -> Iterator[Detected]:
    """Detect mentions in batches with the function `find`; a document that fails gets a problem instead of mentions."""

    def act(docs: Sequence[Document]) -> Iterable[Detected]:
        return (with_spans(doc, spans) for doc, spans in zip(docs, find(docs), strict=True))

    return isolate(documents, act, _fail_document, batch=batch)


def _fail_document(doc: Document, problem: Problem) -> Detected:
    return Detected(replace(doc, mentions=(), relations=()), problems=(problem,))


def with_spans(doc: Document, spans: Sequence[Span]) -> Detected:
    """Return the document with the spans as its mentions, sorted by offset; its old mentions and relations are dropped.

    >>> found = with_spans(Document("1", "high fever"), [Span(5, 10, 0.9, "symptom")])
    >>> [(mention.surface, mention.type) for mention in found.document.mentions], found.scores
    ([('fever', 'symptom')], (0.9,))
    """
    ordered = sorted(spans, key=lambda span: (span.start, span.end, span.type))
    mentions = tuple(Mention(span.start, span.end, doc.text[span.start : span.end], type=span.type) for span in ordered)
    return Detected(replace(doc, mentions=mentions, relations=()), tuple(span.score for span in ordered))


def spans_of(detected: Detected) -> list[Span]:
    """Return the mentions of a detector as spans.

    >>> spans_of(Detected(Document("1", "flu", (Mention(0, 3, "flu", type="Disease"),)), (0.5,)))
    [Span(start=0, end=3, score=0.5, type='Disease')]
    """
    pairs = zip(detected.document.mentions, detected.scores, strict=True)
    return [Span(mention.start, mention.end, score, mention.type) for mention, score in pairs]


def resolve_overlaps(spans: Iterable[Span], *, nested: bool = False) -> list[Span]:
    """Keep the best non-overlapping spans (by score, then length), sorted by offset; the input order does not matter.

    With `nested`, a span may be inside another span. Spans still must not cross, and only one span per pair of offsets is kept.

    >>> spans = [Span(0, 6), Span(0, 17), Span(7, 17), Span(10, 20)]  # breast, breast carcinoma, carcinoma
    >>> [(span.start, span.end) for span in resolve_overlaps(spans)]
    [(0, 17)]
    >>> [(span.start, span.end) for span in resolve_overlaps(spans, nested=True)]
    [(0, 6), (0, 17), (7, 17)]
    """
    return keep_first(sorted(spans, key=_rank), nested=nested)


def keep_first(ranked: Iterable[Span], *, nested: bool = False) -> list[Span]:
    """Keep each span that overlaps no kept span before it, sorted by offset; with `nested`, a span may be inside another one.

    >>> keep_first([Span(7, 9), Span(0, 8), Span(0, 3)])
    [Span(start=0, end=3, score=1.0, type=''), Span(start=7, end=9, score=1.0, type='')]
    """
    return _resolve_nested(ranked) if nested else _disjoint(ranked)


def _rank(span: Span) -> tuple[float, int, int, str]:
    return -span.score, span.start - span.end, span.start, span.type


def _disjoint(ranked: Iterable[Span]) -> list[Span]:
    """Keep each span that overlaps no better span, by marking the characters of those that are kept."""
    spans, kept = list(ranked), []
    taken = bytearray(max((span.end for span in spans), default=0))
    for span in spans:
        if taken.find(1, span.start, span.end) < 0:
            taken[span.start : span.end] = b"\1" * span.length
            kept.append(span)
    return sorted(kept, key=_start)


def _resolve_nested(ranked: Iterable[Span]) -> list[Span]:
    kept: list[Span] = []
    max_length = 0
    for span in ranked:
        # Only spans that start in (span.start - max_length, span.end) can overlap `span`.
        first = bisect_left(kept, span.start - max_length, key=_start)
        last = bisect_left(kept, span.end, key=_start)
        if all(_may_both_stay(span, other) for other in kept[first:last]):
            insort(kept, span, key=_offsets)
            max_length = max(max_length, span.length)
    return kept


class SortedSpans:
    """Spans sorted by offset, in which the first that overlaps another span is found by bisection.

    >>> spans = SortedSpans([Span(0, 17), Span(0, 20), Span(30, 35)])
    >>> spans.first_overlap(Span(18, 40)), spans.first_overlap(Span(20, 30))
    (Span(start=0, end=20, score=1.0, type=''), None)
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans, self._furthest = spans, list(accumulate((span.end for span in spans), max))

    def first_overlap(self, span: Span) -> Span | None:
        """Return the first span that overlaps `span`, or None."""
        row = bisect_right(self._furthest, span.start)
        return self._spans[row] if row < len(self._spans) and self._spans[row].start < span.end else None


def _start(span: Span) -> int:
    return span.start


def _offsets(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _may_both_stay(one: Span, other: Span) -> bool:
    if one.end <= other.start or other.end <= one.start:
        return True
    is_inside = other.start <= one.start and one.end <= other.end
    is_around = one.start <= other.start and other.end <= one.end
    return is_inside != is_around
