"""Several detectors as one: each finds mentions in the text, and overlaps between their mentions are resolved by one rule.

For texts with mentions of many kinds: a trained detector for diseases and chemicals, patterns for variants, a dictionary for
species. The scores of different detectors are not comparable, so they do not decide which mention is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Literal, Self

from pydantic import Field
from pydantic.fields import FieldInfo

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.methods.detector import (
    AnyDetector,
    Detected,
    Detector,
    DetectorConfig,
    FindsRejections,
    Rejection,
    SortedSpans,
    Span,
    keep_first,
    spans_of,
    with_spans,
)
from onym.parts import OpenContext
from onym.registry import DETECTORS
from onym.text.analysis import analyse
from onym.types import Document

_BATCH = 64  # documents
_MAX_PARTS = 20
_PARTS = "parts"
OverlapRule = Literal["longest", "first"]
"""Which of two overlapping mentions is kept: the longer one, or the one of the detector that is listed first."""


class SeveralDetectorConfig(DetectorConfig):
    """The detectors, and the rule for overlapping mentions. On the command line, their names are separated by commas.

    An option of the command line belongs to each of the detectors that has it.
    """

    kind: Literal["several"] = "several"
    parts: tuple[AnyDetector, ...] = Field(min_length=1, max_length=_MAX_PARTS)
    overlaps: OverlapRule = Field(
        default="longest",
        description="Of two overlapping mentions of different detectors, keep the longer one (longest), or the one of the "
        "detector listed first (first). Between mentions of one length, the detector listed first decides.",
    )
    nested: bool = Field(default=False, description="Allow nested mentions.")

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """Return the options of this detector itself; `from_options` accepts those of the parts too."""
        return {name: info for name, info in super().options().items() if name != _PARTS}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Build a configuration from options; `parts` has the names of the detectors, separated by commas."""
        wanted = {name: value for name, value in options.items() if value is not None}
        names = [name.strip() for name in str(wanted.pop(_PARTS, "")).split(",") if name.strip()]
        if not names:
            fix = "name the detectors instead, separated by commas, such as dictionary,variants"
            raise ConfigError("config-invalid", "the detector several has no detectors", fix=fix)
        classes = [DETECTORS.load(name).Config for name in names]
        known = {name for each in (cls, *classes) for name in each.options()}
        if unknown := sorted(wanted.keys() - known):
            fix = f"their options are {', '.join(sorted(known))}"
            raise ConfigError("config-invalid", f"{unknown[0]} is not an option of {' or '.join(names)}", fix=fix)
        own = {name: wanted[name] for name in cls.options() if name in wanted}
        return cls.of({_PARTS: tuple(each.from_options(_of_class(each, wanted)) for each in classes), **own})


def _of_class(config: type[DetectorConfig], options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in config.options()}


Config = SeveralDetectorConfig  # the registry expects this name in every module


def open(
    config: SeveralDetectorConfig, kb: KnowledgeBase, context: OpenContext, *, only: ConceptMask | None = None
) -> SeveralDetector:
    """Open all detectors."""
    parts = [DETECTORS.load(part.kind).open(part, kb, context, only=only) for part in config.parts]
    return SeveralDetector(parts, overlaps=config.overlaps, nested=config.nested)


class SeveralDetector:
    """Finds the mentions of several detectors. Of overlapping mentions, the longer is kept, or that of the earlier detector.

    When to use: the types of mentions need different detectors.
    Related: `DictionaryDetector`, `StudentDetector`.

    >>> from onym.methods.dictionary.detector import DictionaryDetector, DictionaryDetectorConfig
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> short = DictionaryDetector(kb, DictionaryDetectorConfig(min_length=2))
    >>> detector = SeveralDetector([DictionaryDetector(kb), short])
    >>> [found] = detector.detect([Document("1", "Fever after MI.")])
    >>> [mention.surface for mention in found.document.mentions]
    ['Fever', 'MI']
    """

    def __init__(self, parts: Sequence[Detector], *, overlaps: OverlapRule = "longest", nested: bool = False) -> None:
        self._parts, self._overlaps, self._nested = tuple(parts), overlaps, nested

    @property
    def config(self) -> dict[str, Any]:
        """The rule for overlaps, and the effective configurations of the detectors."""
        own = {"overlaps": self._overlaps, "nested": self._nested}
        return {"detector": "several", "parts": [part.config for part in self._parts], **own}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions of all detectors; a document in which one of them fails has its problems."""
        rest = iter(documents)
        while batch := [analyse(doc) for doc in islice(rest, _BATCH)]:  # analyse each text once for all detectors
            found = [list(part.detect(batch)) for part in self._parts]
            yield from map(self._merge, zip(*found, strict=True))

    def find_rejections(self, document: Document) -> list[Rejection]:
        """Return the spans in a text that are not mentions, each with the reason: those of the detectors, and overlaps.

        There are none if one of the detectors fails.
        """
        doc = analyse(document)
        found = [next(part.detect([doc])) for part in self._parts]
        merged = self._merge(found)
        if merged.problems:
            return []
        kept = spans_of(merged)
        rejected: dict[tuple[int, int], Rejection | None] = {(span.start, span.end): None for span in kept}
        others = SortedSpans(kept)
        for span in (span for each in found for span in spans_of(each)):
            rejected.setdefault((span.start, span.end), _reject(doc.text, span, others.first_overlap(span)))
        for part in self._parts:
            for each in part.find_rejections(doc) if isinstance(part, FindsRejections) else ():
                rejected.setdefault((each.start, each.end), each)
        return sorted(filter(None, rejected.values()), key=lambda each: (each.start, each.end))

    def _merge(self, found: Sequence[Detected]) -> Detected:
        """Return the document with the mentions that are kept."""
        doc, problems = found[0].document, tuple(problem for each in found for problem in each.problems)
        if problems:
            return Detected(replace(doc, mentions=(), relations=()), problems=problems[:1])
        ranked = sorted(self._rank(found), key=lambda each: each[0])
        return with_spans(doc, keep_first((span for _, span in ranked), nested=self._nested))

    def _rank(self, found: Sequence[Detected]) -> Iterator[tuple[tuple[int, int, int, str], Span]]:
        """Yield each span with its sort key; the lowest key is preferred."""
        for number, each in enumerate(found):
            for span in spans_of(each):
                first = (number, -span.length) if self._overlaps == "first" else (-span.length, number)
                yield (*first, span.start, span.type), span


def _reject(text: str, span: Span, other: Span | None) -> Rejection | None:
    if other is None:
        return None
    detail = f"overlapped by the mention {text[other.start : other.end]!r}"
    return Rejection(span.start, span.end, text[span.start : span.end], "overlapped", detail)
