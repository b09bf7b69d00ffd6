"""What every detector offers: mentions that nobody annotated, each with a score, and the choice among those that overlap.

A detector is one file of this package: a `Config`, how to `open` it, and the class itself. Its short name is the file's name.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

from onym.corpora.problems import isolate
from onym.errors import InputError
from onym.parts import PartConfig
from onym.types import Document, Mention, Problem


class DetectorConfig(PartConfig):
    """The configuration of a detector."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text that a detector takes for a mention. The type may be unknown.

    >>> Span(0, 5, 0.9).length
    5
    """

    start: int
    end: int
    score: float = 1.0
    type: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InputError("type-offsets", f"a span from {self.start} to {self.end} is empty or backwards")

    @property
    def length(self) -> int:
        """How many code points it has."""
        return self.end - self.start


def split_types(types: str | None) -> tuple[str, ...]:
    """Return types that an option names, separated by commas.

    >>> split_types("Disease, Chemical"), split_types(None)
    (('Disease', 'Chemical'), ())
    """
    return tuple(name.strip() for name in (types or "").split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class Detected:
    """A document with the mentions that were found in it, and the score of each, in their order.

    One in which nothing could be looked for has problems instead.
    """

    document: Document
    scores: tuple[float, ...] = ()
    problems: tuple[Problem, ...] = ()


class Detector(Protocol):
    """Finds mentions in raw text."""

    @property
    def config(self) -> dict[str, Any]:
        """What was really used: the detector's name, and everything that its answers depend on besides the knowledge base."""

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions that are found in its text; those that it has are not looked at."""


RejectionReason = Literal[
    "too-short",
    "no-letter",
    "too-general",
    "function-word",
    "other-spelling",
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
    """A name of the knowledge base in a text that a detector did not take as a mention; `detail` gives the reason in words."""

    start: int
    end: int
    surface: str
    reason: RejectionReason
    detail: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with the keys of `Explanation.as_dict` where they mean the same.

        >>> Rejection(0, 2, "MI", "too-short", "the name is too short").as_dict()["rejected"]
        'too-short'
        """
        offsets = {"start": self.start, "end": self.end, "text": self.surface}
        return {**offsets, "rejected": self.reason, "detail": self.detail}


@runtime_checkable
class FindsRejections(Detector, Protocol):
    """A detector that knows which names of the knowledge base it did not take as mentions."""

    def find_rejections(self, document: Document) -> list[Rejection]:
        """Return the names in a text that are not mentions, in the order of the text."""


def detect_batches(
    documents: Iterable[Document], find: Callable[[Sequence[Document]], Iterable[Sequence[Span]]], *, batch: int = 64
) -> Iterator[Detected]:
    """Yield documents with the spans that `find` finds in a batch; a document that cannot be read has a problem instead."""

    def act(docs: Sequence[Document]) -> Iterable[Detected]:
        return (with_spans(doc, spans) for doc, spans in zip(docs, find(docs), strict=True))

    return isolate(documents, act, _fail_document, batch=batch)


def _fail_document(doc: Document, problem: Problem) -> Detected:
    return Detected(replace(doc, mentions=(), relations=()), problems=(problem,))


def with_spans(doc: Document, spans: Sequence[Span]) -> Detected:
    """Return a document whose mentions are the spans, in the order of the text. What speaks of other mentions is left out.

    >>> found = with_spans(Document("1", "high fever"), [Span(5, 10, 0.9, "symptom")])
    >>> [(mention.surface, mention.type) for mention in found.document.mentions], found.scores
    ([('fever', 'symptom')], (0.9,))
    """
    ordered = sorted(spans, key=lambda span: (span.start, span.end, span.type))
    mentions = tuple(Mention(span.start, span.end, doc.text[span.start : span.end], type=span.type) for span in ordered)
    return Detected(replace(doc, mentions=mentions, relations=()), tuple(span.score for span in ordered))


def resolve_overlaps(spans: Iterable[Span], *, nested: bool = False) -> list[Span]:
    """Return the spans that stay, in the order of the text; the order in which they are given does not matter.

    With `nested`, a span may lie inside another, but none may cross another, and of several at one place one stays.

    >>> spans = [Span(0, 6), Span(0, 17), Span(7, 17), Span(10, 20)]  # breast, breast carcinoma, carcinoma
    >>> [(span.start, span.end) for span in resolve_overlaps(spans)]
    [(0, 17)]
    >>> [(span.start, span.end) for span in resolve_overlaps(spans, nested=True)]
    [(0, 6), (0, 17), (7, 17)]
    """
    ranked = sorted(spans, key=_rank)
    return _resolve_nested(ranked) if nested else _disjoint(ranked)


def _rank(span: Span) -> tuple[float, int, int, str]:
    return -span.score, span.start - span.end, span.start, span.type


def _disjoint(ranked: Iterable[Span]) -> list[Span]:
    """Return the spans of which none touches another: of those that begin before its end, the last is the one that may."""
    kept: list[Span] = []
    starts: list[int] = []
    for span in ranked:
        row = bisect_left(starts, span.end)
        if not row or kept[row - 1].end <= span.start:
            kept.insert(row, span)
            starts.insert(row, span.start)
    return kept


def _resolve_nested(ranked: Iterable[Span]) -> list[Span]:
    kept: list[Span] = []
    max_length = 0
    for span in ranked:
        # Whatever touches this span begins before its end, and not so far before its start that it ends there.
        first = bisect_left(kept, span.start - max_length, key=_start)
        last = bisect_left(kept, span.end, key=_start)
        if all(_may_both_stay(span, other) for other in kept[first:last]):
            insort(kept, span, key=_offsets)
            max_length = max(max_length, span.length)
    return kept


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
