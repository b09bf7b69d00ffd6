"""Text analysis shared by the components of a pipeline: computed once per document, passed from the detector to the linker.

A pipeline wraps each document in an `AnalysedDocument` on entry and unwraps it on exit. In between, `dataclasses.replace` keeps
the analysis, so that later components reuse the abbreviations, sentences, words and encoder outputs.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache, cached_property, reduce
from itertools import repeat
from operator import attrgetter

from onym.text.abbreviations import Abbreviations
from onym.text.boundaries import any_of, sentences, words
from onym.text.normal import PUNCTUATION
from onym.types import Document, Offsets

Stretch = tuple[int, int, str]
"""(start, end, replacement): a span of the text before the step, and its new text; an empty replacement deletes the span."""
Step = Callable[[str], Iterable[Stretch]]

_SPACES = re.compile(r"\s{2,}|[^\S ]|\A | \Z")  # all white space except single spaces inside the text
_TO_SPACE = str.maketrans(dict.fromkeys(PUNCTUATION, " "))


@dataclass(frozen=True, slots=True)
class Aligned:
    """A normalised `text` aligned to its `raw` text: character `i` comes from `raw[starts[i]:ends[i]]`.

    >>> aligned = align("The  \\ufb01nal FEVER", lower, nfkc, collapse)
    >>> aligned.text
    'the final fever'
    >>> aligned.raw_span(4, 9)
    (5, 9)
    >>> aligned.norm_span(5, 9)
    (4, 9)
    """

    raw: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def raw_span(self, start_norm: int, end_norm: int) -> tuple[int, int]:
        """Map a non-empty span of the normalised text to the raw text."""
        if not 0 <= start_norm < end_norm <= len(self.text):
            raise ValueError(f"span {start_norm}:{end_norm} is empty or outside the text of {len(self.text)} characters")
        return self.starts[start_norm], self.ends[end_norm - 1]

    def norm_span(self, start: int, end: int) -> tuple[int, int]:
        """Map a raw span to the normalised text. The result is empty if normalisation deleted all characters of the span."""
        if not 0 <= start <= end <= len(self.raw):
            raise ValueError(f"span {start}:{end} is outside the text of {len(self.raw)} characters")
        first = bisect_right(self.ends, start)
        return first, max(first, bisect_left(self.starts, end))


def align(raw: str, *steps: Step) -> Aligned:
    """Apply normalisation steps to `raw`, in order."""
    whole = Aligned(raw, raw, tuple(range(len(raw))), tuple(range(1, len(raw) + 1)))
    return reduce(_apply_step, steps, whole)


def _apply_step(before: Aligned, step: Step) -> Aligned:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end, new in step(before.text):
        if end - start == len(new) == len(before.text):
            return Aligned(before.raw, new, before.starts, before.ends)
        pieces.append(new)
        if len(new) == 1:
            starts.append(before.starts[start])
            ends.append(before.ends[end - 1])
        elif len(new) == end - start:  # same length: align character by character
            starts += before.starts[start:end]
            ends += before.ends[start:end]
        elif new:
            starts += repeat(before.starts[start], len(new))
            ends += repeat(before.ends[end - 1], len(new))
    return Aligned(before.raw, "".join(pieces), tuple(starts), tuple(ends))


def lower(text: str) -> Iterator[Stretch]:
    """Convert to lower case as `str.lower` does. A character that becomes longer (only U+0130) is yielded separately."""
    lowered = text.lower()
    if len(lowered) == len(text):
        yield 0, len(text), lowered
        return
    done = grown = 0
    for offset, char in enumerate(text):
        if (more := len(char.lower()) - 1) > 0:
            yield done, offset, lowered[done + grown : offset + grown]
            yield offset, offset + 1, char.lower()
            done, grown = offset + 1, grown + more
    yield done, len(text), lowered[done + grown :]


def nfkc(text: str) -> Iterator[Stretch]:
    """Normalise to NFKC, one cluster of interacting characters at a time, so that offsets stay aligned."""
    if unicodedata.is_normalized("NFKC", text):
        yield 0, len(text), text
        return
    for cluster in _clusters().finditer(text):
        start, end = cluster.span()
        old = cluster.group()
        new = unicodedata.normalize("NFKC", old)
        if len(new) != end - start or new == old or len(old) == 1:
            yield start, end, new
        else:  # reordered or recombined characters: align each new character to the whole cluster
            yield start, end, new[0]
            yield start, end, new[1:]


def punctuation(text: str) -> Iterator[Stretch]:
    """Replace each character of GenBioEL's punctuation list with a space."""
    yield 0, len(text), text.translate(_TO_SPACE)


def collapse(text: str) -> Iterator[Stretch]:
    """Collapse each run of white space to one space, and strip the ends."""
    offset = 0
    for spaces in _SPACES.finditer(text):
        start, end = spaces.span()
        yield offset, start, text[offset:start]
        if start > 0 and end < len(text):
            yield start, end, " "
        offset = end
    yield offset, len(text), text[offset:]


@cache
def _clusters() -> re.Pattern[str]:
    """Compile a pattern that splits text into runs that NFKC does not change, and clusters to be normalised as a unit."""
    chars = range(0x110000)  # as a list of characters they would take 100 MB
    decomposed = [(char, parts) for char in map(chr, chars) if (parts := unicodedata.decomposition(char))]
    joined = {char for char in map(chr, chars) if unicodedata.combining(char)}
    joined |= _seconds(decomposed)
    joined |= {char for char, _ in decomposed if unicodedata.normalize("NFKD", char)[0] in joined}
    changed = {char for char, _ in decomposed if unicodedata.normalize("NFKC", char) != char}
    restless = "".join(sorted(char for char in joined | changed if char <= "\uffff"))
    inside = any_of(joined)
    return re.compile(rf"[^{restless}\U00010000-\U0010ffff]+(?!{inside})|.{inside}*+", re.DOTALL)


def _seconds(decomposed: list[tuple[str, str]]) -> set[str]:
    """Return the characters that can combine with the previous one: seconds of canonical pairs, Hangul vowels, finals."""
    pairs = [parts.split() for _, parts in decomposed if not parts.startswith("<")]
    hangul = map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)))
    return {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2} | set(hangul)


class TextAnalysis:
    """Lazily computed, cached analysis of one text.

    >>> analysis = TextAnalysis("Odds ratio (OR) was 2. No fever.")
    >>> analysis.abbreviations.expand("OR"), len(analysis.sentences), analysis.normal_form.text
    ('Odds ratio', 2, 'odds ratio or was 2 no fever')
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.readings: dict[str, object] = {}
        """Encoder outputs for the whole text, by model key; opaque here, and their size grows with the text."""

    @cached_property
    def abbreviations(self) -> Abbreviations:
        """The abbreviations that the text defines."""
        return Abbreviations.from_text(self.text)

    @cached_property
    def sentences(self) -> list[Offsets]:
        """The span of every sentence."""
        return sentences(self.text)

    @cached_property
    def sentence_starts(self) -> list[int]:
        """The start offset of every sentence."""
        return [start for start, _ in self.sentences]

    @cached_property
    def words(self) -> list[Offsets]:
        """The span of every word."""
        return words(self.text)

    @cached_property
    def normal_form(self) -> Aligned:
        """The text in the normal form of names, aligned with the raw text."""
        return align(self.text, lower, punctuation, collapse)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnalysedDocument(Document):
    """A document with the analysis of its text. Comparisons ignore the analysis, and a new text gets a new analysis."""

    analysis: TextAnalysis = field(kw_only=True)

    def __post_init__(self) -> None:
        Document.__post_init__(self)
        if self.analysis.text != self.text:
            object.__setattr__(self, "analysis", TextAnalysis(self.text))


_values = attrgetter(*(each.name for each in fields(Document)))


def analyse(doc: Document) -> AnalysedDocument:
    """Return the document with an analysis attached. If it already has an analysis, return the same object.

    >>> doc = analyse(Document("1", "fever"))
    >>> analyse(doc) is doc
    True
    """
    return doc if isinstance(doc, AnalysedDocument) else AnalysedDocument(*_values(doc), analysis=TextAnalysis(doc.text))


def analysis_of(doc: Document) -> TextAnalysis:
    """Return the analysis of a document, creating one if it has none."""
    return doc.analysis if isinstance(doc, AnalysedDocument) else TextAnalysis(doc.text)


def plain(doc: Document) -> Document:
    """Return the document without its analysis, so that the analysis can be garbage-collected.

    >>> plain(analyse(Document("1", "fever"))) == Document("1", "fever")
    True
    """
    return Document(*_values(doc)) if isinstance(doc, AnalysedDocument) else doc
