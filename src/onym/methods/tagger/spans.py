"""Neural detectors: by scoring spans of whole words, or by tagging words with BIO tags (Bhowmik et al.)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError
from onym.methods.collective.documents import DocumentReader, ReadText, States
from onym.methods.collective.settings import BEGIN, INSIDE, OUTSIDE, CollectiveSettings, Label
from onym.methods.detector import Detected, Span, detect_batches, resolve_overlaps
from onym.models.encoder import Rows, Vectors
from onym.models.tokens import Placed
from onym.types import Document


class DetectionModel(Protocol):
    """A trained model that detects mentions: a `Collective` on torch, or an `OnnxCollective`."""

    name: str
    settings: CollectiveSettings

    @property
    def reader(self) -> DocumentReader:
        """Encodes documents."""

    @property
    def config(self) -> dict[str, Any]:
        """All properties of the model that its answers depend on, for result metadata."""

    def span_chances(self, states: States, spans: Rows) -> Vectors:
        """Return the probability of each span of a text for each label. *Shape:* spans (spans, 2) -> (spans, labels)."""

    def tag_chances(self, states: States, words: Rows) -> Vectors:
        """Return the probability of each tag, for words given by their first tokens. *Shape:* (words,) -> (words, 3)."""


@dataclass(frozen=True, slots=True)
class WantedType:
    """A mention type to detect. Its probability is the mean of the model outputs in `columns`."""

    type: str
    columns: tuple[int, ...]
    threshold: float


def select_types(
    settings: CollectiveSettings, types: Collection[str] = (), convention: str = "", threshold: float | None = None
) -> tuple[WantedType, ...]:
    """Select the types to detect; empty `types` means all. For a type that `convention` lacks, the other corpora are used.

    >>> labels = (Label(type="Disease", corpus="a"), Label(type="Disease", corpus="b", threshold=0.3), Label(type="Gene"))
    >>> settings = CollectiveSettings(labels=labels)
    >>> [(each.type, each.columns, each.threshold) for each in select_types(settings)]
    [('Disease', (0, 1), 0.4), ('Gene', (2,), 0.5)]
    >>> [(each.type, each.columns) for each in select_types(settings, ["Disease"], "b")]
    [('Disease', (1,))]
    """
    labels = settings.labels or (Label(threshold=settings.threshold),)
    known = tuple(dict.fromkeys(label.type for label in labels))
    corpora = tuple(dict.fromkeys(label.corpus for label in labels if label.corpus))
    if unknown := sorted(set(types) - set(known)):
        what = f"the detector cannot find mentions of type {unknown[0]!r}"
        fix = f"choose from its types: {', '.join(known)}" if any(known) else "drop the option: the model has no types"
        raise ConfigError("config-invalid", what, fix=fix)
    if convention and convention not in corpora:
        what = f"the detector was not trained on {convention!r}"
        fix = f"choose from its training corpora: {', '.join(corpora)}" if corpora else "drop the convention option"
        raise ConfigError("config-invalid", what, fix=fix)
    return tuple(_select_type(name, labels, convention, threshold) for name in known if not types or name in types)


def _select_type(name: str, labels: Sequence[Label], convention: str, threshold: float | None) -> WantedType:
    same_type = [at for at, label in enumerate(labels) if label.type == name]
    columns = [at for at in same_type if labels[at].corpus == convention] or same_type
    least = sum(labels[at].threshold for at in columns) / len(columns) if threshold is None else threshold
    return WantedType(name, tuple(columns), least)


Marks = npt.NDArray[np.bool_]


def word_edges(text: str, tokens: Placed) -> tuple[Marks, Marks]:
    """Return two masks of the tokens: where a word begins, and where a word ends; both are False for empty tokens.

    Adjacent tokens belong to one word if letters or digits meet at their border: `cocaine-induced` has three words.

    >>> tokens = Placed(np.array([1, 2, 3, 4]), np.array([0, 2, 4, 5]), np.array([2, 4, 5, 8]))
    >>> [marks.tolist() for marks in word_edges("feve-ish", tokens)]
    [[True, False, True, True], [False, True, True, True]]
    """
    is_there = tokens.ends > tokens.starts
    rows = np.flatnonzero(is_there)
    starts, ends = tokens.starts[rows].tolist(), tokens.ends[rows].tolist()
    joined = [
        end > start or (end == start and text[end - 1].isalnum() and text[start].isalnum())
        for end, start in zip(ends, starts[1:], strict=False)
    ]
    begins, finishes = np.zeros(len(tokens), dtype=np.bool_), np.zeros(len(tokens), dtype=np.bool_)
    if len(rows):
        begins[rows] = ~np.array([False, *joined])
        finishes[rows] = ~np.array([*joined, False])
    return begins, finishes


def word_spans(text: str, tokens: Placed, max_tokens: int) -> npt.NDArray[np.int64]:
    """Return all spans of whole words of at most `max_tokens` tokens. *Shape:* (spans, 2): first token, last token + 1.

    >>> tokens = Placed(np.array([1, 2, 3]), np.array([0, 5, 9]), np.array([4, 9, 14]))
    >>> word_spans("high fevers again", tokens, 2).tolist()
    [[0, 1], [1, 3]]
    """
    begins, finishes = word_edges(text, tokens)
    firsts = np.flatnonzero(begins)
    lasts = firsts[:, None] + np.arange(1, max_tokens + 1)[None, :]  # shape (words, lengths)
    is_end = np.zeros(len(tokens) + max_tokens + 1, dtype=np.bool_)
    is_end[1 : len(tokens) + 1] = finishes
    rows, lengths = np.nonzero(is_end[lasts])
    return np.stack([firsts[rows], lasts[rows, lengths]], 1).astype(np.int64)


Ints = npt.NDArray[np.integer[Any]]


class SpanDetector:
    """Finds mentions with a model that scores spans. With `nested`, mentions may be nested.

    `types` defaults to all types of the model; `convention` selects the training corpus whose annotation rules to follow.

    Needs: a model trained by `onym train collective` to detect mentions by spans.
    When to use: for name variants that are not in the vocabulary.
    Related: `TagDetector`, `DictionaryDetector`.
    """

    def __init__(
        self,
        model: DetectionModel,
        *,
        types: Collection[str] = (),
        convention: str = "",
        threshold: float | None = None,
        nested: bool = False,
    ) -> None:
        self.model, self._nested = model, nested
        self._wanted = select_types(model.settings, types, convention, threshold)

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        about = {"detector": "spans", **self.model.config, "nested": self._nested}
        if not self.model.settings.labels:
            return about | {"threshold": self._wanted[0].threshold}
        return about | {"types": [asdict(each) for each in self._wanted]}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions that are found in its text."""
        return detect_batches(documents, self._find)

    def _find(self, batch: Sequence[Document]) -> Iterator[list[Span]]:
        for doc, read in zip(batch, self.model.reader.read(batch), strict=True):
            yield resolve_overlaps(score_spans(self.model, doc.text, read, self._wanted), nested=self._nested)


def score_spans(model: DetectionModel, text: str, read: ReadText, wanted: Sequence[WantedType]) -> list[Span]:
    """Return all spans that reach the threshold of a wanted type."""
    word_ranges = word_spans(text, read.tokens, model.settings.max_span_tokens)
    if not len(word_ranges):
        return []
    chances = model.span_chances(read.states, word_ranges)
    starts, ends = read.tokens.starts[word_ranges[:, 0]], read.tokens.ends[word_ranges[:, 1] - 1]
    return [span for each in wanted for span in _spans_of(each, chances, starts, ends)]


def _spans_of(wanted: WantedType, chances: Vectors, starts: Ints, ends: Ints) -> Iterator[Span]:
    chance = chances[:, wanted.columns].mean(axis=1)
    for row in (chance >= wanted.threshold).nonzero()[0].tolist():
        yield Span(int(starts[row]), int(ends[row]), float(chance[row]), wanted.type)


class TagDetector:
    """Finds mentions with a model that tags words. The mentions never overlap.

    Needs: a model trained by `onym train collective` to detect mentions by tags.
    When to use: for name variants that are not in the vocabulary, and for long mentions.
    Related: `SpanDetector`, `DictionaryDetector`.
    """

    def __init__(self, model: DetectionModel, *, threshold: float | None = None) -> None:
        self.model = model
        self._threshold = model.settings.threshold if threshold is None else threshold

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"detector": "tags", **self.model.config, "threshold": self._threshold}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions that are found in its text."""
        return detect_batches(documents, self._find)

    def _find(self, batch: Sequence[Document]) -> Iterator[list[Span]]:
        for doc, read in zip(batch, self.model.reader.read(batch), strict=True):
            yield tag_spans(self.model, doc.text, read, self._threshold)


def tag_spans(model: DetectionModel, text: str, read: ReadText, threshold: float) -> list[Span]:
    """Return the mentions: runs of consecutive words whose probability of being in a mention reaches the threshold.

    The tag of a word is the tag of its first token. The score of a mention is the mean probability of its words.
    """
    begins, finishes = word_edges(text, read.tokens)
    words = np.flatnonzero(begins)
    if not len(words):
        return []
    chances = model.tag_chances(read.states, words)
    starts, ends = read.tokens.starts[words], read.tokens.ends[np.flatnonzero(finishes)]
    found: list[Span] = []
    run: list[float] = []
    first = 0
    for word, (chance, is_begin) in enumerate(
        zip(1 - chances[:, OUTSIDE], chances[:, BEGIN] >= chances[:, INSIDE], strict=True)
    ):
        if run and (chance < threshold or is_begin):
            found.append(_span(starts[first], ends[word - 1], run))
            run = []
        if chance >= threshold:
            first = first if run else word
            run.append(float(chance))
    return [*found, _span(starts[first], ends[-1], run)] if run else found


def _span(start: Any, end: Any, chances: list[float]) -> Span:
    return Span(int(start), int(end), sum(chances) / len(chances))
