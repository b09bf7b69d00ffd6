"""Dictionary detector: finds the names of the knowledge base in a text. Needs no training.

The text is normalised like names, with each character aligned to the raw text. Starting at each word, longer and longer phrases
are looked up in the knowledge base's sorted name column, which is memory-mapped and shared by processes. For many texts,
`onym.kb.name_table` finds the same names in a batch. Mentions begin and end at word boundaries. `NameFilter` rejects names that
are too common to be mentions.

If the text defines an abbreviation, and its long form is a KB name, the abbreviation is a mention wherever it occurs. If the
long form is not a KB name, the abbreviation is not a mention, even if the KB has a name with the same letters.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.name_table import NameTable, open_name_table
from onym.kb.ranking import ConceptMask, concepts_of_types, describe_mask, names_of, own_names_of
from onym.methods.detector import (
    Detected,
    DetectorConfig,
    Rejection,
    RejectionReason,
    SortedSpans,
    Span,
    detect_batches,
    resolve_overlaps,
    split_types,
)
from onym.methods.dictionary.classifier import Hints, MentionClassifier, open_classifier
from onym.methods.dictionary.facts import NameFacts
from onym.methods.dictionary.names import CACHE_SIZE, NameFilter, ReorderedNames
from onym.parts import ModelReference, OpenContext
from onym.text.abbreviations import Abbreviations, find_forms
from onym.text.analysis import TextAnalysis, analyse, analysis_of
from onym.text.boundaries import close_brackets, may_cross_sentences, words
from onym.text.fingerprints import NormalTexts
from onym.text.normal import normal_name
from onym.text.spelling import other_forms, other_spellings
from onym.types import Document

_FEW_TEXTS = 16
_LAST = 1_000_000  # a rank after all others
_MIN_LENGTH, _MIN_LENGTH_JUDGED = 3, 2  # minimum length of a name, without and with a classifier

NameSpan = tuple[int, int, int]
"""(start, end, name row) of a name in a text."""
Judged = tuple[int, int, int, RejectionReason | None]
"""(start, end, row of the intended name, rejection reason); the reason is None if the name may be a mention."""


class DictionaryDetectorConfig(DetectorConfig):
    """Options of the dictionary detector: which names count as mentions (see `NameFilter`), and whether these may be nested."""

    kind: Literal["dictionary"] = "dictionary"
    min_length: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="Minimum length of a name; defaults to 3, and to 2 with a classifier, which judges short names.",
    )
    case_sensitive_below: int = Field(
        default=4, ge=0, le=100, description="Match abbreviations of up to this many letters case-sensitively."
    )
    abbreviations: bool = Field(default=True, description="Find abbreviations that the text defines.")
    inflections: bool = Field(
        default=True, description="Also find the singular or the plural of names, and their British or American spelling."
    )
    reordered: bool | None = Field(
        default=None, description="Also find the words of a name in another order: loss of hair, hair loss."
    )
    nested: bool = Field(default=False, description="Allow nested mentions.")
    types: str | None = Field(
        default=None,
        description="Find only names of these semantic groups or types, separated by commas; defaults to all groups and types "
        "that are linked.",
    )
    lent_names: bool | None = Field(
        default=None,
        description="Also find names that a concept got only from concepts of other vocabularies merged into it (default).",
    )
    classifier: ModelReference | None = Field(
        default=None, description="Folder of a classifier trained by onym train mentions; it filters out ordinary words."
    )
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Minimum probability of a mention; defaults to the threshold tuned in training."
    )
    convention: str = Field(
        default="",
        max_length=100,
        description="Follow the annotation guidelines of this training corpus, such as ncbi-disease.",
    )


Config = DictionaryDetectorConfig  # the registry expects this name in every module


def open(
    config: DictionaryDetectorConfig,
    kb: KnowledgeBase,
    context: OpenContext,
    *,
    only: ConceptMask | None = None,
) -> DictionaryDetector:
    """Open the detector, and its classifier if configured."""
    classifier = open_classifier(config.classifier.folder(context), verify=context.verify) if config.classifier else None
    return DictionaryDetector(kb, config, only=only, classifier=classifier)


class DictionaryDetector:
    """Finds the names of a knowledge base, the longest at each offset; `only` restricts it to names of some concepts.

    With a `classifier`, names below its probability threshold are dropped, and the probability is the score.

    >>> detector = DictionaryDetector(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "A Heart-attack (HA), then fever. No HA since; feverish.")
    >>> [found] = detector.detect([doc])
    >>> [(mention.start, mention.surface) for mention in found.document.mentions]
    [(2, 'Heart-attack'), (16, 'HA'), (26, 'fever'), (36, 'HA')]
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        config: DictionaryDetectorConfig | None = None,
        *,
        only: ConceptMask | None = None,
        classifier: MentionClassifier | None = None,
    ) -> None:
        self.kb = kb
        self._config = config or DictionaryDetectorConfig()
        self._classifier = classifier
        self._threshold = _threshold(classifier, self._config)
        self._only = only = _narrow_to_types(kb, self._config, only)
        self._is_wanted = _select_names(kb, self._config, only)
        is_judged = classifier is not None and classifier.settings.hints  # earlier ones never saw short and general names
        self._filter = NameFilter(
            kb,
            min_length=self._config.min_length or (_MIN_LENGTH_JUDGED if is_judged else _MIN_LENGTH),
            case_sensitive_below=self._config.case_sensitive_below,
            only=only,
            is_judged=is_judged,
        )
        self._facts = NameFacts(kb, only)
        self._look_up = lru_cache(CACHE_SIZE)(self._find_name)
        self._type = lru_cache(CACHE_SIZE)(self._type_of)
        self._name = lru_cache(CACHE_SIZE)(kb.names.__getitem__)
        self._rank = lru_cache(CACHE_SIZE)(self._rank_form)
        self._seen = 0

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        limited = {} if self._only is None else describe_mask(self._only)
        own = self._config.model_dump(exclude={"kind", "classifier", "threshold", "convention"}, exclude_none=True)
        if self._classifier is None:
            return {"detector": "dictionary", **own, **limited}
        classified = {
            "classifier": self._classifier.digest,
            "threshold": self._threshold,
            "convention": self._config.convention,
        }
        return {"detector": "dictionary", **own, **limited, **classified}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the names found in its text as mentions."""
        return detect_batches(documents, self.find_spans)

    def find_rejections(self, document: Document) -> list[Rejection]:
        """Return the names in a text that are not mentions, each with the reason.

        >>> detector = DictionaryDetector(KnowledgeBase.open(getfixture("tiny_kb")))
        >>> [(found.surface, found.reason) for found in detector.find_rejections(Document("1", "No fever, no MI."))]
        [('MI', 'too-short')]
        """
        doc = analyse(document)
        judged = list(self._judge(doc, next(self._names([doc]))))
        spans, scored, mentions = self._choose(doc, judged)
        found: dict[tuple[int, int], Rejection | None] = {(span.start, span.end): None for span in mentions}
        for start, end, reason, detail in self._iter_reasons(doc, judged, spans, scored):
            found.setdefault((start, end), Rejection(start, end, doc.text[start:end], reason, detail))
        return sorted(filter(None, found.values()), key=lambda each: (each.start, each.end))

    def _iter_reasons(
        self, doc: Document, judged: Iterable[Judged], spans: Iterable[Span], scored: Sequence[Span]
    ) -> Iterator[tuple[int, int, RejectionReason, str]]:
        """Yield the rejected spans with the reason for each.

        If two names share a span, callers keep the first reason, so rejections by later detection steps come first.
        """
        analysis = analysis_of(doc)
        for span in scored:
            yield span.start, span.end, "below-threshold", self._describe_score(span.score)
        longer = SortedSpans(scored)
        for span in spans:
            if (other := longer.first_overlap(span)) is not None:
                yield span.start, span.end, "overlapped", f"overlapped by the name {doc.text[other.start : other.end]!r}"
        for start, end, name, reason in judged:
            if reason is not None:
                yield start, end, reason, self._describe(analysis, doc.text[start:end], name, reason)
        for start, end, name in self._look_up_names(analysis, self._look_up_unwanted):
            yield start, end, *self._reject_unwanted(name)
        if not self._config.inflections:
            for start, end, name in self._look_up_names(analysis, self._look_up_other_form):
                detail = f"the knowledge base has it as {self._name(name)!r} (removed by detector option inflections)"
                yield start, end, "other-form", detail

    def find_spans(self, docs: Sequence[Document]) -> Iterator[list[Span]]:
        """Yield the mentions of each text as spans, sorted by offset."""
        batch = [analyse(doc) for doc in docs]
        for doc, names in zip(batch, self._names(batch), strict=True):
            yield self._choose(doc, self._judge(doc, names))[-1]

    def find_candidates(self, documents: Sequence[Document]) -> Iterator[list[tuple[Span, Hints]]]:
        """Yield the non-overlapping spans of names in each text, with what a classifier needs to know of their names."""
        batch = [analyse(doc) for doc in documents]
        for doc, names in zip(batch, self._names(batch), strict=True):
            spans, hints = self._collect(doc, self._judge(doc, names))
            yield [(span, hints[span.start, span.end]) for span in resolve_overlaps(spans, nested=self._config.nested)]

    def _collect(self, doc: Document, judged: Iterable[Judged]) -> tuple[list[Span], _Hints]:
        """Return the spans that may be mentions, and the hints for the classifier by offsets."""
        type_of, text = self._type, doc.text
        rows = {(start, end): name for start, end, name, reason in judged if reason is None}
        defined = dict(self._find_short_forms(analysis_of(doc)))
        spans = [Span(start, end, type=type_of(name)) for (start, end), name in chain(rows.items(), defined.items())]
        return spans, _Hints(self._facts, text, rows, defined)

    def _choose(self, doc: Document, judged: Iterable[Judged]) -> tuple[list[Span], list[Span], list[Span]]:
        """Return three lists: all candidate spans, the non-overlapping spans with scores, and the spans above the threshold."""
        spans, hints = self._collect(doc, judged)
        found = resolve_overlaps(spans, nested=self._config.nested)
        if self._classifier is None:
            return spans, found, found
        scored = self._score(doc.text, found, hints, self._classifier)
        return spans, scored, [span for span in scored if span.score >= self._threshold]

    def _score(self, text: str, spans: Iterable[Span], hints: _Hints, classifier: MentionClassifier) -> list[Span]:
        """Return the spans with the classifier's probability as their score."""
        convention = self._config.convention
        return [
            Span(each.start, each.end, classifier.probability(text, each, convention, hints[each.start, each.end]), each.type)
            for each in spans
        ]

    def _judge(self, doc: Document, names: Iterable[NameSpan]) -> Iterator[Judged]:
        """Yield each name with the reason for its rejection, or None if it may be a mention."""
        text, analysis = doc.text, analysis_of(doc)
        known = self._abbreviations(analysis)
        passages = sorted(passage.start for passage in doc.passages)
        for start, end, name in names:
            # A mention may contain full stops and brackets, but no sentence boundary and no unbalanced bracket.
            if _has_between(passages, start, end) or _is_in_two_sentences(analysis, start, end):
                yield start, end, name, "sentence-boundary"
            elif (whole := close_brackets(text, start, end)) is None:
                yield start, end, name, "unpaired-bracket"
            else:
                meant, reason = self._resolve_name(name, text[start:end], known)
                yield whole[0], whole[1], meant, reason

    def _abbreviations(self, analysis: TextAnalysis) -> Abbreviations:
        return analysis.abbreviations if self._config.abbreviations else Abbreviations(())

    def _resolve_name(self, name: int, surface: str, known: Abbreviations) -> tuple[int, RejectionReason | None]:
        """Return the name that is meant (a defined abbreviation's long form, else `name`), and a rejection reason or None."""
        long = known.expand(surface)
        if long is None:
            return name, self._filter.reject(name, surface)
        meant = self._find_long_form(long)
        return (meant, None) if meant >= 0 else (name, "other-abbreviation")

    def _describe(self, analysis: TextAnalysis, surface: str, name: int, reason: RejectionReason) -> str:
        """Explain a rejection reason in words."""
        if reason == "other-abbreviation":
            return f"the text defines it as {analysis.abbreviations.expand(surface)!r}, which is not a name to detect"
        if reason == "sentence-boundary":
            return "a sentence or a passage begins inside the name"
        if reason == "unpaired-bracket":
            return "one bracket of a pair is inside the name, and the other is not"
        return self._filter.describe(name, reason)

    def _describe_score(self, score: float) -> str:
        return f"the classifier's probability is {score:.2f}, below the threshold of {self._threshold:.2f}"

    def _reject_unwanted(self, name: int) -> tuple[RejectionReason, str]:
        """Return the reason why a name is not searched: its concepts are filtered out, or it comes from another vocabulary."""
        concepts = self.kb.name_concepts[name].tolist()
        allowed = [concept for concept in concepts if self._only is None or self._only[concept]]
        if allowed:
            sources = {self.kb.sources[self.kb.kind_and_source(concept, name)[1]] for concept in allowed}
            where = ", ".join(sorted(sources))
            return "other-source", f"the concept has this name only from {where} (removed by detector option lent_names)"
        types = sorted({self.kb.label_of(concept)[1] for concept in concepts} - {""})
        kind = f" ({', '.join(types)})" if types else ""
        return "filtered", f"the pipeline's filter excludes all concepts with this name{kind}"

    def _names(self, docs: Sequence[Document]) -> Iterator[Iterable[NameSpan]]:
        """Yield the spans of all names in each text."""
        found = self._names_in_order(docs)
        if not self._config.reordered:
            return found
        return (chain(names, self._find_reordered_names(analysis_of(doc))) for names, doc in zip(found, docs, strict=True))

    def _names_in_order(self, docs: Sequence[Document]) -> Iterator[Iterable[NameSpan]]:
        """Yield the names whose words are in the usual order. For the first texts, look-ups are faster than the name table."""
        self._seen += len(docs)
        if self._seen < _FEW_TEXTS:
            return (self._look_up_names(analysis_of(doc), self._look_up) for doc in docs)
        texts = NormalTexts([doc.text for doc in docs])
        found = self._names_in(texts)
        look_up = self._look_up
        return (
            self._look_up_names(analysis_of(doc), look_up) if row in texts.odd else found[row] for row, doc in enumerate(docs)
        )

    def _names_in(self, texts: NormalTexts) -> list[list[NameSpan]]:
        """Return the spans of all names in a batch of texts."""
        found: list[list[NameSpan]] = [[] for _ in range(texts.count)]
        first, last, rows = self._table.find(texts)
        if self._is_wanted is not None:
            is_wanted = self._is_wanted[rows]
            first, last, rows = first[is_wanted], last[is_wanted], rows[is_wanted]
        spans = (texts.starts[first], texts.ends[last], texts.raw_starts[first], texts.raw_ends[last])
        text, rank = texts.text, self._rank
        best: dict[tuple[int, int, int], tuple[int, int]] = {}
        for owner, row, start_norm, end_norm, start, end in zip(
            *(column.tolist() for column in (texts.owners[first], rows, *spans)), strict=True
        ):
            order = rank(text[start_norm:end_norm], row)
            if order >= 0 and (order, row) < best.get((owner, start, end), (_LAST, 0)):
                best[owner, start, end] = order, row
        for (owner, start, end), (_, row) in best.items():
            found[owner].append((start, end, row))
        return found

    def _rank_form(self, surface: str, name: int) -> int:
        """Return 0 if a normalised surface is the name, its rank if it is another form of the name, or -1.

        Comparing the strings is necessary, because hashes may collide.
        """
        own = self._name(name)
        if own == surface:
            return 0
        forms = other_forms(surface) if self._config.inflections else ()
        return forms.index(own) + 1 if own in forms else -1

    @cached_property
    def _table(self) -> NameTable:
        return open_name_table(self.kb, forms=self._config.inflections)

    @cached_property
    def _word_order_index(self) -> ReorderedNames:
        return ReorderedNames(self.kb)

    def _find_reordered_names(self, analysis: TextAnalysis) -> Iterator[NameSpan]:
        """Yield the spans of names whose words are in another order."""
        aligned = analysis.normal_form
        for start, end, name in self._word_order_index.find(aligned.text):
            if self._is_allowed(name):
                yield *aligned.raw_span(start, end), name

    def _look_up_names(self, analysis: TextAnalysis, look_up: Callable[[str], tuple[int, bool]]) -> Iterator[NameSpan]:
        """Yield the spans of all names in one text, by single look-ups."""
        aligned = analysis.normal_form
        text, edges = aligned.text, words(aligned.text)
        for number, (start, _) in enumerate(edges):
            for row in range(number, len(edges)):
                end = edges[row][1]
                name, goes_on = look_up(text[start:end])
                if name >= 0:
                    yield *aligned.raw_span(start, end), name
                if not goes_on:
                    break

    def _find_name(self, key: str) -> tuple[int, bool]:
        """Return an allowed name equal to `key` or to another form of it, or -1; and whether a longer name starts so."""
        names, goes_on = self._names_like(key)
        return next(filter(self._is_allowed, names), -1), goes_on

    def _look_up_unwanted(self, key: str) -> tuple[int, bool]:
        """Return the name that equals `key` if that name is not allowed, or -1; and whether a longer name starts with `key`."""
        names, goes_on = self._names_like(key)
        return (next(names, -1) if self._look_up(key)[0] < 0 else -1), goes_on

    def _look_up_other_form(self, key: str) -> tuple[int, bool]:
        """Return the name of which `key` is another form, or -1; and whether a longer name starts with `key`."""
        if self._look_up(key)[0] >= 0:
            return -1, True
        rows = (self._find_key(other)[0] for other in other_forms(key))
        goes_on = any(self._find_key(each)[1] for each in (key, *other_spellings(key)))
        return next(filter(self._is_allowed, filter(_is_row, rows)), -1), goes_on

    def _names_like(self, key: str) -> tuple[Iterator[int], bool]:
        """Return the rows of names equal to `key` or another form of it; and whether a longer name starts with `key`."""
        row, goes_on = self._find_key(key)
        if not self._config.inflections:
            return filter(_is_row, (row,)), goes_on
        goes_on = goes_on or any(self._find_key(other)[1] for other in other_spellings(key))
        others = (self._find_key(other)[0] for other in other_forms(key))
        return filter(_is_row, chain((row,), others)), goes_on

    def _find_key(self, key: str) -> tuple[int, bool]:
        """Return the row of the name that equals `key`, or -1; and whether a longer name starts with `key`."""
        names, data = self.kb.names, key.encode("utf-8", "surrogatepass")
        row = names.lower_bound(data)
        is_name = row < len(names) and names.bytes_at(row) == data
        after = row + is_name
        goes_on = after < len(names) and names.bytes_at(after).startswith(data)
        return (row if is_name else -1), goes_on

    def _is_allowed(self, name: int) -> bool:
        return self._is_wanted is None or bool(self._is_wanted[name])

    def _find_long_form(self, long: str) -> int:
        """Return the row of the name that equals a long form, or -1."""
        return self._look_up(normal_name(long))[0]

    def _find_short_forms(self, analysis: TextAnalysis) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield the spans and long forms of abbreviations whose long form is a KB name, also with a plural `s`."""
        known = self._abbreviations(analysis)
        names: dict[str, int] = {}
        for short in dict.fromkeys(each.short for each in known.definitions):
            if (name := self._find_long_form(known.expand(short) or "")) >= 0:
                forms = (short, f"{short}s", short.removesuffix("s"))
                names |= {form: name for form in forms if len(form) > 1 or form == short}
        for start, form in find_forms(analysis.text, names):
            end = start + len(form)
            if not (_is_in_word(analysis, start) or _is_in_word(analysis, end)):
                yield (start, end), names[form]

    def _type_of(self, name: int) -> str:
        """Return the semantic group of the first allowed concept with a group; without groups, the first semantic type."""
        concepts = [c for c in self.kb.name_concepts[name].tolist() if self._only is None or self._only[c]]
        grouped = [concept for concept in concepts if len(self.kb.concept_groups[concept])]
        return next((found for concept in (*grouped, *concepts) if (found := self.kb.label_of(concept)[1])), "")


class _Hints:
    """What the classifier is told about the names of a text's spans, by offsets; computed when asked for."""

    def __init__(
        self, facts: NameFacts, text: str, rows: dict[tuple[int, int], int], defined: dict[tuple[int, int], int]
    ) -> None:
        self._facts, self._text, self._rows, self._defined = facts, text, rows, defined

    def __getitem__(self, offsets: tuple[int, int]) -> Hints:
        if offsets in self._defined:
            return self._facts.of_defined(self._defined[offsets])
        return self._facts.of(self._rows[offsets], self._text[offsets[0] : offsets[1]])


def _is_row(name: int) -> bool:
    return name >= 0


def _threshold(classifier: MentionClassifier | None, config: DictionaryDetectorConfig) -> float:
    """Return the configured threshold; if it is not set, the threshold stored in the classifier."""
    if classifier is None:
        if config.threshold is not None or config.convention:
            fix = "give its folder with --detector-classifier, or drop these options"
            raise ConfigError("config-invalid", "threshold and convention need a classifier", fix=fix)
        return 0.0
    own = classifier.threshold(config.convention)
    return own if config.threshold is None else config.threshold


def _narrow_to_types(kb: KnowledgeBase, config: DictionaryDetectorConfig, only: ConceptMask | None) -> ConceptMask | None:
    """Return the concepts whose names are searched: the concepts in `only` that have a configured type."""
    if config.types is None:
        return only
    wanted = concepts_of_types(kb, split_types(config.types))
    return wanted if only is None else wanted & only


def _select_names(
    kb: KnowledgeBase, config: DictionaryDetectorConfig, only: ConceptMask | None
) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the names to search; None means all."""
    if config.lent_names is not False or kb.term_lent is None:
        return None if only is None else names_of(kb, only)
    return own_names_of(kb, np.ones(len(kb), dtype=bool) if only is None else only)


def _has_between(offsets: Sequence[int], start: int, end: int) -> bool:
    """Return whether one of the sorted offsets lies strictly inside a span."""
    return bisect_right(offsets, start) < bisect_left(offsets, end)


def _is_in_two_sentences(analysis: TextAnalysis, start: int, end: int) -> bool:
    """Return whether a sentence begins inside a span; a quick check first excludes most spans, for speed."""
    return may_cross_sentences(analysis.text[start:end]) and _has_between(analysis.sentence_starts, start, end)


def _is_in_word(analysis: TextAnalysis, offset: int) -> bool:
    """Return whether an offset is between two characters of the same word."""
    before_and_after = analysis.text[max(offset - 1, 0) : offset + 1]
    if before_and_after.isascii():
        return offset > 0 and len(before_and_after) == 2 and before_and_after.isalnum()
    word = bisect_left(analysis.words, (offset,)) - 1
    return word >= 0 and analysis.words[word][1] > offset
