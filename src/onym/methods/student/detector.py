"""Student detector: a network of a few megabytes tags the words of a text. Needs NumPy only.

Its inputs are the words' spelling, and the names of the knowledge base that they are in; it is trained by `onym train student`.
With a classifier, names that the dictionary detector finds are added (`add_names`): the network alone misses plain names in
texts that are unlike its training documents. The classifier and the network both judge them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, log
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field
from pydantic.fields import FieldInfo

from onym.errors import ConfigError, missing_extra
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.methods.detector import (
    Detected,
    DetectorConfig,
    Rejection,
    RejectionReason,
    SortedSpans,
    Span,
    detect_batches,
    split_types,
)
from onym.methods.dictionary import detector as dictionary
from onym.methods.student.name_bits import Bits, NameBits
from onym.methods.student.network import (
    TAGS,
    Floats,
    Head,
    Network,
    NumpyNetwork,
    Student,
    WordVectors,
    merge_head,
    open_student,
)
from onym.methods.student.tags import decode_tags, log_softmax, score_tags
from onym.parts import ModelReference, OpenContext, require_model
from onym.text.analysis import AnalysedDocument, analyse
from onym.text.tokens import WordTokens
from onym.types import Document

CONFIDENT = 0.9
"""A span of the network with this probability is kept, even if a name lies inside it."""
_NETWORK_SHARE, _LEAST_NAME = 0.3, 0.27
"""Weight of the network in the log odds of a name, and minimum probability of a name; chosen on dev splits."""
_EXTREME = 1e-4  # probabilities are clipped to this distance from 0 and 1
Engine = Literal["numpy", "onnx"]
_OWN = ("model", "threshold", "types", "convention", "engine")


class StudentDetectorConfig(DetectorConfig):
    """Options of the student detector; None means the setting stored in the model. `names` are the dictionary's options."""

    kind: Literal["student"] = "student"
    model: ModelReference | None = Field(default=None, description="Folder of a detector trained by onym train.")
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Minimum probability of a mention; defaults to the threshold tuned in training."
    )
    types: str | None = Field(
        default=None,
        description="Find only mentions of these types, separated by commas; defaults to those that the pipeline may link to.",
    )
    convention: str = Field(
        default="",
        max_length=100,
        description="Follow the annotation guidelines of this training corpus, such as ncbi-disease.",
    )
    engine: Engine = Field(
        default="numpy", description="numpy or onnx (ONNX Runtime, somewhat faster). Both find the same mentions."
    )
    names: dictionary.DictionaryDetectorConfig | None = None

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """Return the network's options, and those of the dictionary."""
        return {name: cls.model_fields[name] for name in _OWN} | dictionary.DictionaryDetectorConfig.options()

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Build a configuration; with a classifier, names are found too. `types` and `convention` hold for both parts."""
        wanted = {name: value for name, value in options.items() if value is not None}
        own = {name: wanted.pop(name) for name in _OWN if name in wanted}
        if "classifier" in wanted:
            own["names"] = dictionary.DictionaryDetectorConfig.from_options(wanted)
        elif wanted:
            what = f"option {min(wanted)} applies to names of the dictionary, but no classifier of these names is given"
            raise ConfigError("config-invalid", what, fix="give its folder with --detector-classifier, or drop the option")
        return cls.of(own)


Config = StudentDetectorConfig  # the registry expects this name in every module


def open(
    config: StudentDetectorConfig,
    kb: KnowledgeBase,
    context: OpenContext,
    *,
    only: ConceptMask | None = None,
) -> StudentDetector:
    """Open the network, and the dictionary with its classifier if configured."""
    folder = require_model(config.model, "the student detector", "--detector-model").folder(context)
    student = context.open_once(("student", str(folder)), lambda: open_student(folder, verify=context.verify))
    names = None
    if config.names is not None:
        shared = {"types": config.types, "convention": config.convention, "threshold": 0.0}  # judged with the network
        names = dictionary.open(config.names.model_copy(update=shared), kb, context, only=only)
    if config.types is None:
        config = config.model_copy(update={"types": ",".join(_types_within(student, kb, only)) or None})
    return StudentDetector(student, kb, config, names=names)


def _types_within(student: Student, kb: KnowledgeBase, only: ConceptMask | None) -> tuple[str, ...]:
    """Return the student's types that are semantic groups of concepts in `only`, or of all concepts.

    There are none if the knowledge base has no such groups; then all types are used.
    """
    groups = kb.concept_groups if only is None else kb.concept_groups.take(np.flatnonzero(only))
    found = np.unique(groups.values)
    wanted = {kb.groups[int(group)] for group in found}
    return tuple(name for name in _types_of(student) if name in wanted)


def _types_of(student: Student) -> tuple[str, ...]:
    """Return all types of the training corpora."""
    return tuple(dict.fromkeys(name for types in student.settings.conventions.values() for name in types))


class StudentDetector:
    """Finds mentions with a small network over words and names of the knowledge base, and optionally adds names.

    Needs: a model trained by `onym train student`.
    When to use: nearly as accurate as a neural detector with an encoder, and many times faster, on a CPU.
    Related: `DictionaryDetector`, `SpanDetector`.
    """

    def __init__(
        self,
        student: Student,
        kb: KnowledgeBase,
        config: StudentDetectorConfig | None = None,
        *,
        names: dictionary.DictionaryDetector | None = None,
    ) -> None:
        self.student, self.kb = student, kb
        self._config = config or StudentDetectorConfig()
        self._names = names
        self._tagger = Tagger(student, kb, self._config.convention, split_types(self._config.types), self._config.engine)
        own = student.settings.thresholds.get(self._config.convention, 0.0)
        self._threshold = own if self._config.threshold is None else self._config.threshold

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        own = {"threshold": self._threshold, "types": list(self._tagger.wanted), "convention": self._config.convention}
        names = {} if self._names is None else {"names": self._names.config}
        return {"detector": "student", "model": self.student.digest, **own, **names}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions found in its text."""
        return detect_batches(documents, self._find)

    def find_rejections(self, document: Document) -> list[Rejection]:
        """Return the spans and names in a text that are not mentions, each with the reason."""
        doc = analyse(document)
        tagging = self._tagger.tag([doc])
        [(spans, names)] = self._judge([doc], tagging)
        mentions = self._choose(spans, names)
        likely = [span for span in spans if span.score >= self._threshold]
        others = (SortedSpans(mentions), SortedSpans(likely))  # a name may have replaced the span
        found: dict[tuple[int, int], Rejection | None] = {(span.start, span.end): None for span in mentions}
        for span, least in (*((span, self._threshold) for span in spans), *((name, _LEAST_NAME) for name in names)):
            reason, detail = _reason(doc.text, span, least, others)
            found.setdefault((span.start, span.end), Rejection(span.start, span.end, _surface(doc, span), reason, detail))
        for rejection in [] if self._names is None else self._names.find_rejections(doc):
            found.setdefault((rejection.start, rejection.end), rejection)
        return sorted(filter(None, found.values()), key=lambda each: (each.start, each.end))

    def _find(self, docs: Sequence[Document]) -> Iterator[list[Span]]:
        """Yield the mentions of each text."""
        batch = [analyse(doc) for doc in docs]
        tagging = self._tagger.tag(batch)
        for spans, names in self._judge(batch, tagging):
            yield self._choose(spans, names)

    def _judge(self, docs: Sequence[AnalysedDocument], tagging: Tagging) -> Iterator[tuple[list[Span], list[Span]]]:
        """Return the spans of the network and the names in each text, with their probabilities."""
        return map(lift_short_forms, docs, _with_letters(docs, tagging.spans()), self._judge_names(docs, tagging))

    def _choose(self, spans: Sequence[Span], names: Sequence[Span]) -> list[Span]:
        """Return the mentions among the spans of the network and the names in a text."""
        likely = [span for span in spans if span.score >= self._threshold]
        return add_names(likely, [name for name in names if name.score >= _LEAST_NAME])

    def _judge_names(self, docs: Sequence[AnalysedDocument], tagging: Tagging) -> list[list[Span]]:
        """Return the names in each text, with their probability by the classifier and the network."""
        if self._names is None:
            return [[] for _ in docs]
        named = list(self._names.find_spans(docs))
        by_network = iter(tagging.score(named))
        return [
            [Span(name.start, name.end, _combine(name.score, next(by_network)), name.type) for name in names] for names in named
        ]


class Tagger:
    """Finds spans with a student. With a `convention`, types that it annotates follow it; `types` restricts the answers."""

    def __init__(
        self, student: Student, kb: KnowledgeBase, convention: str = "", types: Sequence[str] = (), engine: Engine = "numpy"
    ) -> None:
        known, conventions = _types_of(student), student.settings.conventions
        if unknown := sorted(set(types) - set(known)):
            what = f"the detector cannot find mentions of type {unknown[0]!r}"
            raise ConfigError("config-invalid", what, fix=f"choose from its types: {', '.join(known)}")
        if convention and convention not in conventions:
            what = f"the detector was not trained on {convention!r}"
            raise ConfigError("config-invalid", what, fix=f"choose from its training corpora: {', '.join(conventions)}")
        own = conventions.get(convention, known)
        self._types = tuple(name for name in known if name in own or name in types)
        self.wanted = tuple(name for name in self._types if not types or name in types)
        sources = {
            name: [convention]
            if name in conventions.get(convention, ())
            else [c for c in conventions if name in conventions[c]]
            for name in self._types
        }
        self._network = _network(student, merge_head(student, sources), engine)
        self._vectors, self._marks = WordVectors(student), NameBits(kb, student.settings.groups)

    def tag(self, docs: Sequence[AnalysedDocument]) -> Tagging:
        """Return the probabilities of the tags of each text."""
        texts = [doc.text for doc in docs]
        tokens = WordTokens(texts)
        if not len(tokens):
            return Tagging(tokens, np.empty((0, 1), dtype=np.float32), self._types, self.wanted)
        marks = self._marks.mark(tokens, texts, [doc.analysis.abbreviations for doc in docs])
        log_chances = np.empty((len(tokens), 1 + TAGS * len(self._types)), dtype=np.float32)
        for group in _group(_windows(tokens.bounds.tolist())):
            log_chances[group[0].kept_start : group[-1].kept_end] = self._chances(tokens, marks, group)
        return Tagging(tokens, log_chances, self._types, self.wanted)

    def _chances(self, tokens: WordTokens, marks: Bits, windows: Sequence[_Window]) -> Floats:
        """Return the log probabilities of the tags of windows that follow each other; a window is read by itself."""
        first, after = windows[0].start, windows[-1].end
        words, rows = tokens.number_words(first, after)
        bits = np.concatenate([marks[first:after], tokens.is_glued[first:after, None].view(np.uint8)], axis=1)
        vectors, found = self._vectors.of(tokens, words), []
        for window in windows:
            inside = slice(window.start - first, window.end - first)
            same = np.unique(rows[inside], return_inverse=True)[1]
            logits = self._network.logits(vectors[rows[inside]], bits[inside], same)
            found.append(logits[window.kept_start - window.start : window.kept_end - window.start])
        return log_softmax(np.concatenate(found))


_WINDOW, _OVERLAP = 32_768, 64  # tokens; the overlap is wider than the convolutions of the network and any mention


class _Window(NamedTuple):
    """Tokens that the network reads at a time, and those of them whose tags are kept: a window overlaps the next one."""

    start: int
    end: int
    kept_start: int
    kept_end: int


def _windows(bounds: Sequence[int]) -> Iterator[_Window]:
    """Yield the windows of documents, in order: one per document, except for a document with more than `_WINDOW` tokens.

    They bound the memory of a long text. The means over the words of a document are then means over a window.
    """
    step = _WINDOW - 2 * _OVERLAP
    for first, after in pairwise(bounds):
        if first < after <= first + _WINDOW:
            yield _Window(first, after, first, after)
            continue
        for start in range(first, after, step):
            end = min(start + step, after)
            yield _Window(max(start - _OVERLAP, first), min(end + _OVERLAP, after), start, end)


def _group(windows: Iterable[_Window]) -> Iterator[list[_Window]]:
    """Yield windows in groups of about `_WINDOW` tokens, whose words are looked up together."""
    group: list[_Window] = []
    for window in windows:
        if group and window.end - group[0].start > _WINDOW:
            yield group
            group = []
        group.append(window)
    yield group


@dataclass(frozen=True)
class Tagging:
    """The tokens of several texts, and the log probabilities of their tags; `wanted` are the types to find, of all `types`."""

    tokens: WordTokens
    log_chances: Floats
    types: tuple[str, ...]
    wanted: tuple[str, ...]

    def spans(self) -> list[list[Span]]:
        """Return the most probable spans in each text, whatever their probability."""
        tokens = self.tokens
        found: list[list[Span]] = [[] for _ in tokens.bounds[1:]]
        if not len(tokens):
            return found
        spans = decode_tags(self.log_chances, tokens.bounds)
        columns = (tokens.owners[spans.first], tokens.starts[spans.first], tokens.ends[spans.last], spans.type, spans.score)
        for owner, start, end, kind, score in zip(*(column.tolist() for column in columns), strict=True):
            if self.types[kind] in self.wanted:
                found[owner].append(Span(start, end, score, self.types[kind]))
        return found

    def score(self, spans: Sequence[Sequence[Span]]) -> list[float]:
        """Return the probability that each of some spans in each text is a mention, by its likeliest type.

        It is 0 for a span that begins or ends inside a token.
        """
        tokens, owners = self.tokens, np.repeat(np.arange(len(spans)), [len(each) for each in spans])
        if not len(tokens) or not len(owners):
            return [0.0] * len(owners)
        begins = tokens.begins[owners]
        starts, ends = (begins + [getattr(span, key) for each in spans for span in each] for key in ("start", "end"))
        first_starts, last_ends = (tokens.begins[tokens.owners] + each for each in (tokens.starts, tokens.ends))
        first = np.minimum(np.searchsorted(first_starts, starts), len(tokens) - 1)
        last = np.minimum(np.searchsorted(last_ends, ends), len(tokens) - 1)
        is_whole = (first_starts[first] == starts) & (last_ends[last] == ends)
        best = np.zeros(len(owners), dtype=np.float32)
        for name in self.wanted:
            kinds = np.full(int(is_whole.sum()), self.types.index(name))
            found = score_tags(self.log_chances, first[is_whole], last[is_whole], kinds)
            best[is_whole] = np.maximum(best[is_whole], found)
        scores: list[float] = best.tolist()
        return scores


def lift_short_forms(doc: AnalysedDocument, spans: Sequence[Span], names: Sequence[Span]) -> tuple[list[Span], list[Span]]:
    """Return spans and names in which an abbreviation that the text defines is at least as likely as its long form."""
    known = doc.analysis.abbreviations
    chances: dict[int, float] = {}
    for span in (*spans, *names) if known.definitions else ():
        chances[span.end] = max(span.score, chances.get(span.end, 0.0))

    def lift(span: Span) -> Span:
        meant = known.definition(_surface(doc, span)) if chances else None
        chance = chances.get(meant.long_end, 0.0) if meant else 0.0
        return replace(span, score=chance) if chance > span.score else span

    return list(map(lift, spans)), list(map(lift, names))


def _network(student: Student, head: Head, engine: Engine) -> Network:
    if engine == "numpy":
        return NumpyNetwork(student, head)
    try:
        from onym.methods.student.onnx_network import OnnxNetwork
    except ImportError as e:
        raise missing_extra("the engine onnx", "onnx") from e
    return OnnxNetwork(student, head)


def _combine(classifier: float, network: float) -> float:
    """Return the probability of a name from those of the classifier and of the network."""
    odds = _NETWORK_SHARE * _log_odds(network) + (1 - _NETWORK_SHARE) * _log_odds(classifier)
    return 1 / (1 + exp(-odds))


def _log_odds(chance: float) -> float:
    clipped = min(max(chance, _EXTREME), 1 - _EXTREME)
    return log(clipped / (1 - clipped))


def _reason(text: str, span: Span, least: float, others: Sequence[SortedSpans]) -> tuple[RejectionReason, str]:
    if span.score < least:
        return "below-threshold", f"the detector's probability is {span.score:.2f}, below {least:.2f}"
    other = next(filter(None, (each.first_overlap(span) for each in others)))
    return "overlapped", f"overlapped by {text[other.start : other.end]!r}"


def add_names(spans: Sequence[Span], names: Sequence[Span]) -> list[Span]:
    """Add names to the spans of the network, sorted by offset. The spans must be sorted, and must not overlap.

    A name is added if no span overlaps it, if it contains all spans that overlap it and is longer than them, or if it lies
    inside a span with a probability below `CONFIDENT`. It replaces these spans.

    >>> spans = [Span(0, 5, 0.8), Span(10, 20, 0.7), Span(30, 40, 0.95)]
    >>> names = [Span(0, 9), Span(12, 16), Span(32, 36), Span(50, 55)]
    >>> [(span.start, span.end) for span in add_names(spans, names)]
    [(0, 9), (12, 16), (30, 40), (50, 55)]
    """
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    added: list[Span] = []
    replaced: set[int] = set()
    for name in names:
        overlapping = range(bisect_right(ends, name.start), bisect_left(starts, name.end))
        if all(_is_better(name, spans[row]) for row in overlapping):
            added.append(name)
            replaced.update(overlapping)
    kept = (span for row, span in enumerate(spans) if row not in replaced)
    return sorted((*kept, *added), key=lambda span: span.start)


def _is_better(name: Span, span: Span) -> bool:
    """Return whether a name is longer than a span that it contains, or inside an uncertain one."""
    if name.length > span.length:
        return name.start <= span.start and span.end <= name.end
    return name.length < span.length and span.score < CONFIDENT and span.start <= name.start and name.end <= span.end


def _with_letters(docs: Sequence[Document], found: Sequence[Sequence[Span]]) -> list[list[Span]]:
    """Return the spans in each text that have a letter or digit: brackets and dots alone are no mention."""
    return [
        [span for span in spans if any(map(str.isalnum, _surface(doc, span)))] for doc, spans in zip(docs, found, strict=True)
    ]


def _surface(doc: Document, span: Span) -> str:
    return doc.text[span.start : span.end]
