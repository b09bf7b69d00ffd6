"""The detector that needs no training: wherever a name of the knowledge base stands in a text, there is a mention.

The text is brought to the normal form of names, and every character of it knows its offset in the raw text. From each word on,
the names that begin so are looked up in the knowledge base's own sorted column: nothing is built, nothing is kept in memory
but what was just looked up, and any number of processes share the column. A mention begins where a word begins and ends where
one ends. For many texts, `onym.kb.name_table` finds the same names at once. Names that are too common to be believed wherever
they stand are told apart by `_filter.py`.

An abbreviation that the text defines by a name is a mention wherever it stands; one that it defines by something else is not
what a knowledge base says of these letters.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Literal
from unicodedata import east_asian_width

import numpy as np
import numpy.typing as npt
from pydantic import Field

from onym.detect.base import Detected, DetectorConfig, Span, detect_batches, resolved, split_types
from onym.detect.classifier import MentionClassifier, open_classifier
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.name_table import NameTable, WordKeys, open_name_table
from onym.kb.ranking import ConceptMask, concepts_of_types, describe_mask, names_of, own_names_of
from onym.parts import ModelReference, OpenContext
from onym.text.abbreviations import FUNCTION_WORDS, Abbreviations
from onym.text.analysis import TextAnalysis, analysis_of
from onym.text.boundaries import closed, may_cross_sentences, words
from onym.text.fingerprints import NormalTexts
from onym.text.normal import SMALL_WORDS, normal_name, other_numbers
from onym.types import Document

_MAX_WORDS = 8
_JOINS = frozenset((" ", "-"))  # what may stand between two words of one name: a comma lists several things
_CACHE_SIZE = 200_000  # names and beginnings of names: texts repeat themselves


class ReorderedNames:
    """Finds the names of a knowledge base in any order of their words.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> text = "two attacks of the heart, attack"
    >>> [(text[start:end], kb.names[row]) for start, end, row in ReorderedNames(kb).find(text)]
    [('attacks of the heart', 'heart attack')]
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        keys = WordKeys(kb)
        self._look_up = lru_cache(_CACHE_SIZE)(keys.find)

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield where a normalised text has the words of a name and nothing else, and the row of each such name."""
        found = [(start, end, text[start:end]) for start, end in words(text)]
        for first, (start, _, word) in enumerate(found):
            if word in SMALL_WORDS:
                continue
            phrase = [word]
            for (_, before, _), (after, end, more) in zip(found[first:], found[first + 1 : first + _MAX_WORDS], strict=False):
                if text[before:after] not in _JOINS:
                    break
                phrase.append(more)
                if more not in SMALL_WORDS:
                    for row in self._look_up(tuple(phrase)):
                        yield start, end, row


_GENERAL = 100  # names that end with a word, at least, until it says too little
_ONE_IN = 400  # of all names
_SPACE = ord(" ")
_BASE = 0x9E3779B97F4A7C15  # odd, and as good as random
_LAST, _BUCKETS = 4, 20  # bytes at the end of a word, and bits of a number made of them

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


class NameFilter:
    """Tells whether a name is a mention where it stands written so. With `only`, as a name of some concepts alone.

    Never accepted are names of fewer than `min_length` characters, names without a letter, function words, and single words
    with which one in 400 names ends. Names of up to `case_sensitive_below` letters and digits that all sources write as
    abbreviations are, with a capital or a digit after the first letter, are accepted where they are written so.

    >>> names = NameFilter(KnowledgeBase.open(getfixture("tiny_kb")), min_length=2)
    >>> mi, fever = names.kb.find("mi"), names.kb.find("fever")
    >>> [names.accepts(mi, "MI"), names.accepts(mi, "Mi"), names.accepts(fever, "FEVER")]
    [True, False, True]
    """

    def __init__(
        self, kb: KnowledgeBase, *, min_length: int = 3, case_sensitive_below: int = 4, only: ConceptMask | None = None
    ) -> None:
        self.kb = kb
        self._min_length, self._case_sensitive_below, self._only = min_length, case_sensitive_below, only
        self._allowed = lru_cache(_CACHE_SIZE)(self._forms_allowed)

    def accepts(self, name: int, surface: str) -> bool:
        """Tell whether a stretch of text, written as `surface`, is to be taken for the name."""
        forms_allowed = self._allowed(name)
        return forms_allowed is None or _bare(surface) in forms_allowed

    @cached_property
    def general(self) -> frozenset[str]:
        """The words with which so many names end that they say little by themselves."""
        names = self.kb.names
        least = max(_GENERAL, len(names) // _ONE_IN)
        data, ends = names.data.view(np.ndarray), names.offsets.astype(np.int64)
        spaces = np.concatenate(([-1], np.flatnonzero(data == _SPACE)))
        starts = spaces[np.searchsorted(spaces, ends[1:]) - 1] + 1  # of the last words
        has_more = starts > ends[:-1]
        rows = np.flatnonzero(has_more)
        rows = rows[_may_be_frequent(data, starts[rows], ends[1:][rows], least)]
        hashes = _hashes(data, starts[rows], ends[1:][rows])
        _, numbers, counts = np.unique(hashes, return_index=True, return_counts=True)
        return frozenset(names[int(row)].rpartition(" ")[2] for row in rows[numbers[counts >= least]])

    def _forms_allowed(self, name: int) -> frozenset[str] | None:
        """Return how a name must be written, bare; None is in any way, and nothing is never."""
        text = self.kb.names[name]
        if _width(text) < self._min_length or not any(map(str.isalpha, text)) or text in self.general:
            return frozenset()
        forms = {_bare(form) for form in self._forms(name)} if len(_bare(text)) <= self._case_sensitive_below else {""}
        if all(map(_is_short_form, forms)):
            return frozenset(forms)
        return frozenset() if text in FUNCTION_WORDS else None

    def _forms(self, name: int) -> list[str]:
        """Return a name as the sources write it."""
        kb, found = self.kb, []
        for concept in kb.name_concepts[name].tolist():
            if self._only is None or self._only[concept]:
                first = int(kb.concept_terms[concept])
                found += [kb.term_forms[first + row] for row in (kb.names_of(concept) == name).nonzero()[0].tolist()]
        return found


def _may_be_frequent(data: Bytes, starts: Ints, ends: Ints, least: int) -> npt.NDArray[np.bool_]:
    """Tell for each stretch of bytes whether so many may be the same: those of one length that end with the same bytes.

    It is quick, so that few are left to be compared as a whole.
    """
    numbers = (ends - starts).astype(np.uint64)
    for back in range(1, _LAST + 1):
        numbers = numbers * np.uint64(_BASE) + data[np.maximum(ends - back, starts)]
    numbers = (numbers * np.uint64(_BASE)) >> np.uint64(64 - _BUCKETS)
    counts = np.bincount(numbers.astype(np.int64), minlength=1 << _BUCKETS)
    is_frequent: npt.NDArray[np.bool_] = counts[numbers] >= least
    return is_frequent


def _hashes(data: Bytes, starts: Ints, ends: Ints) -> npt.NDArray[np.uint64]:
    """Return a number for each stretch of bytes, the same for the same bytes."""
    lengths = ends - starts
    after = np.concatenate(([0], np.cumsum(lengths)))
    within = np.arange(int(after[-1])) - np.repeat(after[:-1], lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _BASE, dtype=np.uint64))
    values = (data[np.repeat(starts, lengths) + within].astype(np.uint64) + np.uint64(1)) * powers[within]
    totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(values)))
    hashes: npt.NDArray[np.uint64] = totals[after[1:]] - totals[after[:-1]]
    return hashes


def _width(text: str) -> int:
    """Count characters; one of a script that has words of one or two, such as Chinese, counts twice."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _bare(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def _is_short_form(form: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in form[1:])


_FEW_TEXTS = 16

NameSpan = tuple[int, int, int]
"""Where a name starts and ends in a text, and its row."""


class Config(DetectorConfig):
    """Which names are taken for mentions, see `NameFilter`, and whether mentions may be nested."""

    kind: Literal["dictionary"] = "dictionary"
    min_length: int = Field(default=3, ge=1, le=100, description="Minimum length of a name.")
    case_sensitive_below: int = Field(
        default=4, ge=0, le=100, description="Match abbreviations of up to this many letters case-sensitively."
    )
    abbreviations: bool = Field(default=True, description="Find abbreviations that the text defines.")
    inflections: bool = Field(default=False, description="Also find the singular or the plural of names.")
    reordered: bool | None = Field(
        default=None, description="Also find the words of a name in another order: loss of hair, hair loss."
    )
    nested: bool = Field(default=False, description="Allow nested mentions.")
    types: str | None = Field(
        default=None,
        description="Find only names of these semantic groups or types, separated by commas; by default of all concepts that "
        "may be answers.",
    )
    lent_names: bool | None = Field(
        default=None, description="Also find names that a concept has only through joined concepts of other vocabularies."
    )
    classifier: ModelReference | None = Field(
        default=None, description="Folder of a classifier of onym train mentions, which filters out ordinary words."
    )
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Minimum probability of a mention; by default the one tuned in training."
    )
    convention: str = Field(
        default="",
        max_length=100,
        description="Follow the annotation guidelines of this training corpus, such as ncbi-disease.",
    )


def open(
    config: Config,
    kb: KnowledgeBase,
    context: OpenContext,
    *,
    only: ConceptMask | None = None,
) -> DictionaryDetector:
    """Open the detector, and its classifier where it has one."""
    classifier = open_classifier(config.classifier.folder(context), verify=context.verify) if config.classifier else None
    return DictionaryDetector(kb, config, only=only, classifier=classifier)


class DictionaryDetector:
    """Finds the names of a knowledge base, the longest at each offset. With `only`, those of some concepts alone.

    With a `classifier`, a name is a mention only where it is likely to be one; the score is that probability.

    >>> detector = DictionaryDetector(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "A Heart-attack (HA), then fever. No HA since; feverish.")
    >>> [found] = detector.detect([doc])
    >>> [(mention.start, mention.surface) for mention in found.document.mentions]
    [(2, 'Heart-attack'), (16, 'HA'), (26, 'fever'), (36, 'HA')]
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        config: Config | None = None,
        *,
        only: ConceptMask | None = None,
        classifier: MentionClassifier | None = None,
    ) -> None:
        self.kb = kb
        self._config = config or Config()
        self._classifier = classifier
        self._threshold = _threshold(classifier, self._config)
        self._only = only = _narrowed(kb, self._config, only)
        self._is_wanted = _wanted_names(kb, self._config, only)
        self._filter = NameFilter(
            kb, min_length=self._config.min_length, case_sensitive_below=self._config.case_sensitive_below, only=only
        )
        self._look_up = lru_cache(_CACHE_SIZE)(self._looked_up)
        self._type = lru_cache(_CACHE_SIZE)(self._type_of)
        self._name = lru_cache(_CACHE_SIZE)(kb.names.__getitem__)
        self._seen = 0

    @property
    def config(self) -> dict[str, Any]:
        """What was really used."""
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
        """Yield each document with the names in its text."""
        return detect_batches(documents, self._find)

    def _find(self, docs: Sequence[Document]) -> Iterator[list[Span]]:
        """Yield the names in each text that do not overlap, and are likely to be mentions."""
        classifier, convention = self._classifier, self._config.convention
        for doc, names in zip(docs, self._names(docs), strict=True):
            found = resolved(self._spans(doc, names), nested=self._config.nested)
            if classifier is not None:
                likely = [replace(span, score=classifier.probability(doc.text, span, convention)) for span in found]
                found = [span for span in likely if span.score >= self._threshold]
            yield found

    def _spans(self, doc: Document, names: Iterable[NameSpan]) -> Iterator[Span]:
        text, analysis = doc.text, analysis_of(doc)
        known = analysis.abbreviations if self._config.abbreviations else Abbreviations(())
        passages = sorted(passage.start for passage in doc.passages)
        for start, end, name in names:
            # A name may have full stops and brackets in it, but not the end of a sentence or half a pair.
            is_cut = _has_between(passages, start, end) or _is_in_two_sentences(analysis, start, end)
            whole = None if is_cut else closed(text, start, end)
            meant = self._meant(name, text[start:end], known) if whole else -1
            if whole and meant >= 0:
                yield Span(*whole, type=self._type(meant))
        yield from self._defined(analysis, known)

    def _meant(self, name: int, surface: str, known: Abbreviations) -> int:
        """Return the name that is meant where one stands written so: itself, or what the text says it is short for, or -1."""
        long = known.expand(surface)
        if long is not None:
            return self._named(long)
        return name if self._filter.accepts(name, surface) else -1

    def _names(self, docs: Sequence[Document]) -> Iterator[Iterable[NameSpan]]:
        """Yield every span of a name in each text."""
        found = self._names_in_order(docs)
        if not self._config.reordered:
            return found
        return (chain(names, self._reordered_names(analysis_of(doc))) for names, doc in zip(found, docs, strict=True))

    def _names_in_order(self, docs: Sequence[Document]) -> Iterator[Iterable[NameSpan]]:
        """Yield the names in the order of their words. For the first texts, look-ups are quicker than to open the table is."""
        self._seen += len(docs)
        if self._seen < _FEW_TEXTS or self._config.inflections:
            return (self._looked_up_names(analysis_of(doc)) for doc in docs)
        texts = NormalTexts([doc.text for doc in docs])
        found = self._names_in(texts)
        return (self._looked_up_names(analysis_of(doc)) if row in texts.odd else found[row] for row, doc in enumerate(docs))

    def _names_in(self, texts: NormalTexts) -> list[list[NameSpan]]:
        """Return every span of a name in texts that are looked at together."""
        found: list[list[NameSpan]] = [[] for _ in range(texts.count)]
        first, last, rows = self._table.find(texts)
        if self._is_wanted is not None:
            is_wanted = self._is_wanted[rows]
            first, last, rows = first[is_wanted], last[is_wanted], rows[is_wanted]
        spans = (texts.starts[first], texts.ends[last], texts.raw_starts[first], texts.raw_ends[last])
        text, name = texts.text, self._name
        for owner, row, start_norm, end_norm, start, end in zip(
            *(column.tolist() for column in (texts.owners[first], rows, *spans)), strict=True
        ):
            if text[start_norm:end_norm] == name(row):  # nearly always: fingerprints may be equal where names are not
                found[owner].append((start, end, row))
        return found

    @cached_property
    def _table(self) -> NameTable:
        return open_name_table(self.kb)

    @cached_property
    def _reordered(self) -> ReorderedNames:
        return ReorderedNames(self.kb)

    def _reordered_names(self, analysis: TextAnalysis) -> Iterator[NameSpan]:
        """Yield every span of a name whose words are in another order."""
        aligned = analysis.normalised
        for start, end, name in self._reordered.find(aligned.text):
            if self._is_allowed(name):
                yield *aligned.raw_span(start, end), name

    def _looked_up_names(self, analysis: TextAnalysis) -> Iterator[NameSpan]:
        """Yield every span of a name in a text, one look-up after the other."""
        aligned = analysis.normalised
        text, edges = aligned.text, words(aligned.text)
        for number, (start, _) in enumerate(edges):
            for row in range(number, len(edges)):
                end = edges[row][1]
                name, goes_on = self._look_up(text[start:end])
                if name >= 0:
                    yield *aligned.raw_span(start, end), name
                if not goes_on:
                    break

    def _looked_up(self, key: str) -> tuple[int, bool]:
        """Return the name that is `key`, or the other number of it, or -1; and whether a longer one begins with `key`."""
        name, goes_on = self._found(key)
        others = other_numbers(key) if name < 0 and self._config.inflections else ()
        return next((found for found in (self._found(other)[0] for other in others) if found >= 0), name), goes_on

    def _found(self, key: str) -> tuple[int, bool]:
        """Return the name that is `key`, or -1, and whether a longer one begins so."""
        names, data = self.kb.names, key.encode("utf-8", "surrogatepass")
        row = names.lower_bound(data)
        is_name = row < len(names) and names.bytes_at(row) == data
        after = row + is_name
        goes_on = after < len(names) and names.bytes_at(after).startswith(data)
        return (row if is_name and self._is_allowed(row) else -1), goes_on

    def _is_allowed(self, name: int) -> bool:
        return self._is_wanted is None or bool(self._is_wanted[name])

    def _named(self, long: str) -> int:
        """Return the name that a long form is, or -1."""
        return self._look_up(normal_name(long))[0]

    def _defined(self, analysis: TextAnalysis, known: Abbreviations) -> Iterator[Span]:
        """Yield the places of the short forms that the text defines by a name, with or without a plural `s`."""
        named = {each.short: self._named(known.expand(each.short) or "") for each in known.definitions}
        for short, name in named.items():
            forms = dict.fromkeys((short, f"{short}s", short.removesuffix("s"))) if name >= 0 else ()
            for form in forms:
                if len(form) > 1 or form == short:
                    for start, end in _spans(analysis, form):
                        yield Span(start, end, type=self._type(name))

    def _type_of(self, name: int) -> str:
        """Return the semantic group of the first concept of a name that may be meant and has one; else its first type."""
        concepts = [c for c in self.kb.name_concepts[name].tolist() if self._only is None or self._only[c]]
        grouped = [concept for concept in concepts if len(self.kb.concept_groups[concept])]
        return next((found for concept in (*grouped, *concepts) if (found := self.kb.label_of(concept)[1])), "")


def _threshold(classifier: MentionClassifier | None, config: Config) -> float:
    """Return the least probability of a mention: the one that is set, or the classifier's own."""
    if classifier is None:
        if config.threshold is not None or config.convention:
            fix = "name its folder with --detector-classifier"
            raise ConfigError("config-invalid", "a threshold and a convention are those of a classifier", fix=fix)
        return 0.0
    own = classifier.threshold(config.convention)
    return own if config.threshold is None else config.threshold


def _narrowed(kb: KnowledgeBase, config: Config, only: ConceptMask | None) -> ConceptMask | None:
    """Return the concepts whose names are looked for: fewer than may be answers, where the configuration names types."""
    if config.types is None:
        return only
    wanted = concepts_of_types(kb, split_types(config.types))
    return wanted if only is None else wanted & only


def _wanted_names(kb: KnowledgeBase, config: Config, only: ConceptMask | None) -> npt.NDArray[np.bool_] | None:
    """Return for each name whether it is looked for; None if all are."""
    if config.lent_names or kb.term_lent is None:
        return None if only is None else names_of(kb, only)
    return own_names_of(kb, np.ones(len(kb), dtype=bool) if only is None else only)


def _has_between(offsets: Sequence[int], start: int, end: int) -> bool:
    """Tell whether one of the sorted offsets is inside a span, after its start."""
    return bisect_right(offsets, start) < bisect_left(offsets, end)


def _is_in_two_sentences(analysis: TextAnalysis, start: int, end: int) -> bool:
    """Tell whether a sentence begins inside a span. Most spans say at a glance that none does."""
    return may_cross_sentences(analysis.text[start:end]) and _has_between(analysis.sentence_starts, start, end)


def _spans(analysis: TextAnalysis, form: str) -> Iterator[tuple[int, int]]:
    """Yield where a form stands in a text, neither beginning nor ending inside a word."""
    text = analysis.text
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        if not (_is_in_word(analysis, start) or _is_in_word(analysis, end)):
            yield start, end
        start = text.find(form, start + 1)


def _is_in_word(analysis: TextAnalysis, offset: int) -> bool:
    """Tell whether an offset is between two characters of one word."""
    before_and_after = analysis.text[max(offset - 1, 0) : offset + 1]
    if before_and_after.isascii():
        return offset > 0 and len(before_and_after) == 2 and before_and_after.isalnum()
    word = bisect_left(analysis.words, (offset,)) - 1
    return word >= 0 and analysis.words[word][1] > offset
