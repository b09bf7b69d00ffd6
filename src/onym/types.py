"""The core data types: concepts, documents, mentions, candidates and links; immutable and validated.

`start` and `end` count code points of the document's text, end exclusive. A `concept_id` is a CURIE with the bioregistry
prefix in lower case, `mondo:0005148`, as in objects and stored files. An `obo_id` has the prefix in upper case,
`MONDO:0005148`, as in tables, HTML and command output. A `score` is a model's raw score; a `confidence` is a calibrated
probability that the answer is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from onym.errors import InputError, format_id
from onym.fields import PROBABILITY, column, frame_of, plain_fields
from onym.markup import Mark, mark_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

T = TypeVar("T")
Progress = Callable[[str, int], None]
"""Progress callback: called with the current step and the number of names, rows or documents done."""


Offsets = tuple[int, int]
"""Start and end of a span, in code points, end exclusive."""


def silent(_what: str, _done: int) -> None:
    """No-op progress callback."""


def require_text(text: object, where: str = "") -> None:
    """Raise InputError unless `text` is a str.

    >>> require_text(b"fever")
    Traceback (most recent call last):
    onym.errors.InputError: [type-text] the text is a bytes, not a str...
    """
    if not isinstance(text, str):
        what = f"the text is a {type(text).__name__}, not a str"
        raise InputError("type-text", what, where=where, fix="decode bytes; use read_corpus to read a file")


def iter_checked(values: Iterable[object], *kinds: type[T], of: str = "") -> Iterator[T]:
    """Yield the values, raising InputError if one has the wrong type or if `values` is not an iterable of values.

    >>> list(iter_checked(["fever"], Document))
    Traceback (most recent call last):
    onym.errors.InputError: [type-document] a value is a str, not a Document...
    """
    names = of or " or ".join(kind.__name__ for kind in kinds)
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        what = f"the argument is a {type(values).__name__}, not a list or an iterator of {names}"
        raise InputError("type-document", what, fix="put a single value into a list")
    for number, value in enumerate(values, 1):
        if not isinstance(value, kinds):
            what = f"a value is a {type(value).__name__}, not a {names}"
            raise InputError("type-document", what, where=f"value {number}", fix="make a Document with an id from each text")
        yield value


IdStyle = Literal["curie", "obo", "raw"]
"""Forms of a concept id: `mesh:D003924`, `MESH:D003924` or `D003924`."""


@lru_cache(maxsize=65_536)
def style_id(concept_id: str, style: IdStyle = "obo") -> str:
    """Return a concept id in its stored form (`curie`), with the prefix in upper case (`obo`), or without a prefix (`raw`).

    >>> style_id("hp:0001250"), style_id("mesh:D009203"), style_id("mesh:D003924", "raw")
    ('HP:0001250', 'MESH:D009203', 'D003924')
    """
    prefix, _, local = concept_id.partition(":")
    return {"curie": concept_id, "obo": f"{prefix.upper()}:{local}", "raw": local}[style]


class NameKind(IntEnum):
    """The relation of a name to its concept. Lower values are preferred for display."""

    PREFERRED = 0
    EXACT = 1
    ABBREVIATION = 2
    NARROW = 3
    BROAD = 4
    RELATED = 5
    TRADENAME = 6
    SUPPRESSED = 7
    RETIRED = 8

    @property
    def label(self) -> str:
        """The kind in lower case, as in files.

        >>> NameKind.PREFERRED.label
        'preferred'
        """
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Name:
    """One name of one concept: the normalised `text` that linkers use, and the original `form` in the source."""

    text: str
    form: str
    kind: NameKind
    language: str
    sources: tuple[str, ...]


class ParentKind(IntEnum):
    """The relation of a concept to its parent, as stated by a source. The values are stored in knowledge bases."""

    IS_A = 0  # every instance of the concept is an instance of the parent; in OBO and SNOMED CT
    BROADER = 1  # the parent is a broader term in a thesaurus; in MeSH, CTD and UMLS
    MAPPED_TO = 2  # the parent is the MeSH heading that a supplementary record is indexed under, not a broader term

    @property
    def label(self) -> str:
        """The kind as shown to users, such as `is a`."""
        return self.name.lower().replace("_", " ")


class SuccessorKind(IntEnum):
    """The relation of a retired id to another id, as stated by a source. The values are stored in knowledge bases."""

    REPLACED_BY = 0
    SAME_AS = 1
    MERGED = 2
    MOVED_TO = 3
    POSSIBLY_EQUIVALENT = 4
    ALTERNATIVE = 5
    CONSIDER = 6
    SPLIT = 7
    BROADER = 8
    NARROWER = 9
    RELATED = 10

    @property
    def label(self) -> str:
        """The kind as shown to users, such as `replaced by`."""
        return self.name.lower().replace("_", " ") + " into" * (self in (SuccessorKind.MERGED, SuccessorKind.SPLIT))

    @property
    def is_certain(self) -> bool:
        """Whether the other id means the same concept, so that it can replace the retired id automatically."""
        return self in (SuccessorKind.REPLACED_BY, SuccessorKind.SAME_AS, SuccessorKind.MERGED)


@dataclass(frozen=True, slots=True)
class Relative:
    """A parent or child of a concept, with the kind of the relation and the source that states it."""

    id: str
    name: str
    kind: ParentKind
    source: str

    def to_dict(self, id_style: IdStyle = "obo") -> dict[str, str]:
        """Return the relative as JSON values.

        >>> Relative("mesh:D001832", "Body Temperature Changes", ParentKind.BROADER, "mesh").to_dict()["kind"]
        'broader'
        """
        return {"id": style_id(self.id, id_style), "name": self.name, "kind": self.kind.label, "source": self.source}


def select_relatives(relatives: Iterable[Relative], *, mapped: bool = False) -> dict[str, str]:
    """Return the names of parents or children by id, each once if several sources state it; with `mapped`, mapped headings.

    >>> select_relatives([Relative("hp:1", "All", ParentKind.IS_A, source) for source in ("hp", "mine")])
    {'hp:1': 'All'}
    """
    return {each.id: each.name for each in relatives if (each.kind is ParentKind.MAPPED_TO) is mapped}


@dataclass(frozen=True, slots=True)
class Successor:
    """An id that a source names as successor of a retired id. `release` is the release of the change; empty if unknown."""

    target: str
    kind: SuccessorKind
    source: str
    release: str = ""


class Relatives(Protocol):
    """The interface of a knowledge base's hierarchy that concepts need."""

    def children(self, concept_id: str) -> tuple[Relative, ...]:
        """Return the children that the sources state."""
        ...

    def ancestors(self, concept_id: str) -> tuple[str, ...]:
        """Return the ids of all concepts above, the nearest first."""
        ...

    def descendants(self, concept_id: str) -> tuple[str, ...]:
        """Return the ids of all concepts below, the nearest first."""
        ...


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept of a knowledge base, with its names in order of preference.

    >>> form = Name("heart attack", "Heart attack", NameKind.PREFERRED, "en", ("demo",))
    >>> Concept("demo:1", (form,)).preferred_name
    'Heart attack'
    """

    id: str
    terms: tuple[Name, ...]
    types: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    alternative_ids: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    parents: tuple[Relative, ...] = ()
    hierarchy: Relatives | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if ":" not in self.id:
            raise InputError("type-concept-id", f"{self.id!r} is not a CURIE", fix="use prefix:local, such as mesh:D003924")

    @property
    def obo_id(self) -> str:
        """The id with its prefix in upper case, as in tables and command output."""
        return style_id(self.id)

    @property
    def preferred_name(self) -> str:
        """The name to display."""
        return self.terms[0].form if self.terms else self.id

    @property
    def names(self) -> tuple[str, ...]:
        """The normalised names, in order of preference."""
        return tuple(term.text for term in self.terms)

    @property
    def children(self) -> tuple[Relative, ...]:
        """The concepts directly below, as the sources state them."""
        return self.hierarchy.children(self.id) if self.hierarchy else ()

    @property
    def ancestors(self) -> tuple[str, ...]:
        """The ids of all concepts above, the nearest first; without mapped headings."""
        return self.hierarchy.ancestors(self.id) if self.hierarchy else ()

    @property
    def descendants(self) -> tuple[str, ...]:
        """The ids of all concepts below, the nearest first; without mapped supplementary records."""
        return self.hierarchy.descendants(self.id) if self.hierarchy else ()


def concept_to_dict(concept: Concept) -> dict[str, Any]:
    """Return a concept as a dict of JSON values.

    >>> concept_to_dict(Concept("mesh:D005334", (Name("fever", "Fever", NameKind.PREFERRED, "en", ("demo",)),)))["id"]
    'MESH:D005334'
    """
    return {
        "id": concept.obo_id,
        "preferred_name": concept.preferred_name,
        "names": list(concept.names),
        "groups": list(concept.groups),
        "types": list(concept.types),
        "definitions": list(concept.definitions),
        "xrefs": [style_id(xref) for xref in concept.xrefs],
        "parents": [parent.to_dict() for parent in concept.parents],
    }


Notes = tuple[tuple[str, str], ...]
"""Format-specific (key, value) pairs that Onym does not interpret, in order, kept so that they can be written back."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of a document's text and its concepts: several for a composite mention ("breast and ovarian cancer").

    A discontinuous mention has `parts`, the spans of its fragments; `start` and `end` then bound them all.

    >>> Mention(0, 5, "fever").end
    5
    """

    start: int
    end: int
    surface: str = field(repr=False)  # keeps document text out of logs
    concept_ids: tuple[str, ...] = ()
    type: str = ""
    id: str = ""
    parts: tuple[tuple[int, int], ...] = ()
    notes: Notes = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InputError("type-offsets", f"invalid mention offsets: start {self.start}, end {self.end}")
        if len(self.surface) != self.end - self.start:
            what = f"the surface has {len(self.surface)} code points, but the mention goes from {self.start} to {self.end}"
            raise InputError("type-offsets", what)
        if self.parts and any(not self.start <= start < end <= self.end for start, end in self.parts):
            raise InputError("type-offsets", f"a fragment is outside its mention ({self.start} to {self.end})")


@dataclass(frozen=True, slots=True)
class Passage:
    """A section of a document, such as `title` or `abstract`."""

    start: int
    end: int
    kind: str = ""
    notes: Notes = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between mentions or concepts: its `arguments` are pairs of a role and an id."""

    type: str
    arguments: tuple[tuple[str, str], ...]
    id: str = ""
    notes: Notes = field(default=(), repr=False)


DocumentKey = tuple[str, str, int]
"""A document's id, the file that it was read from, and its number within that file."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id and the mentions in it. Every mention's surface is the text at its offsets.

    `source` is the file that it was read from and `ordinal` its number within that file, from 1. They distinguish documents
    with the same id; equality ignores them.

    >>> Document("1", "fever and cough", (Mention(10, 15, "cough"),)).mentions[0].surface
    'cough'
    """

    id: str
    text: str
    mentions: tuple[Mention, ...] = ()
    passages: tuple[Passage, ...] = ()
    relations: tuple[Relation, ...] = ()
    notes: Notes = ()
    source: str = field(default="", compare=False)
    ordinal: int = field(default=0, compare=False)

    @property
    def key(self) -> DocumentKey:
        """Unique key of the document within a corpus: id, source and ordinal."""
        return self.id, self.source, self.ordinal

    def __post_init__(self) -> None:
        for string in (self.id, self.text):
            require_text(string)
        for mention in self.mentions:
            if self.text[mention.start : mention.end] != mention.surface:
                what = "a mention's surface differs from the text at its offsets"
                raise InputError("type-offsets", what, where=f"document {format_id(self.id)}, {mention.start} to {mention.end}")
        for passage in self.passages:
            if not 0 <= passage.start <= passage.end <= len(self.text):
                where = f"document {format_id(self.id)}, {passage.start} to {passage.end}"
                raise InputError("type-offsets", "a passage is outside the text", where=where)

    def __repr__(self) -> str:
        return f"<Document {format_id(self.id)}: {len(self.text)} code points, {len(self.mentions)} mentions>"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A concept that a linker proposes, with the name that led to it and the model's score.

    `preferred_name` and `type` (the semantic group) come from the knowledge base; equality ignores them.
    """

    concept_id: str
    name: str
    score: float
    preferred_name: str = field(default="", compare=False)
    type: str = field(default="", compare=False)

    @property
    def obo_id(self) -> str:
        """The concept id with its prefix in upper case, as in tables and command output.

        >>> Candidate("mondo:0005148", "type 2 diabetes mellitus", 1.0).obo_id
        'MONDO:0005148'
        """
        return style_id(self.concept_id)


NilReason = Literal["no-candidate", "below-threshold", "below-precision", "filtered-out", "corrected"]
"""Why a mention is left unlinked (NIL): there is no candidate, the best score is below the threshold, the confidence is too low
for the requested precision, the best concept is excluded by the type or id filter, or a correction says that it has none."""
AssertionMark = Literal["negated", "possible", "historical", "hypothetical", "other-experiencer"]
"""How the sentence qualifies a mention: absent, uncertain, in the past, hypothetical, or about somebody else (family)."""
_COUNTED = -1  # default of `tied`, which means: count the ties among the candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEvidence:
    """The fields of a link besides the mention and the candidates. Every output format includes the fields declared here.

    `tied` is the number of other concepts with the best score, including those beyond the returned candidates.
    `detection_score` is the detector's score; None if the mention was annotated. `stage` is the stage of a cascade that
    produced the answer. `confidence` is a calibrated probability. `nil_reason` says why the mention is unlinked; the link
    still has its candidates. `assertion` has the qualifiers of the mention, such as `negated`: empty if there are none, None if
    assertion detection was off.
    """

    tied: int | None = None
    detection_score: float | None = field(default=None, metadata=column(""))
    stage: str | None = None
    confidence: float | None = field(default=None, metadata=PROBABILITY)
    nil_reason: NilReason | None = None
    assertion: tuple[AssertionMark, ...] | None = None


@dataclass(frozen=True, slots=True)
class Link(LinkEvidence):
    """A mention, its candidates, best first, and the evidence behind the answer.

    If the linker does not set `tied`, ties are counted among the candidates.

    >>> fever = Mention(0, 5, "fever")
    >>> Link(fever, (Candidate("mesh:D005334", "fever", 1.0),)).concept_id
    'mesh:D005334'
    >>> Link(fever).concept_id, Link(fever).nil_reason
    (None, 'no-candidate')
    >>> Link(fever, (Candidate("mesh:D005334", "fever", 1.0), Candidate("hp:0001945", "fever", 1.0))).tied
    1
    """

    mention: Mention
    candidates: tuple[Candidate, ...] = ()
    tied: int = field(default=_COUNTED, kw_only=True, metadata=column("ties"))
    extra: Mapping[str, Any] = field(default_factory=dict, kw_only=True, hash=False)
    """What components say about the link: JSON values by the name of the component. Tables do not have it."""

    def __post_init__(self) -> None:
        if self.confidence is not None and not 0.0 <= self.confidence <= 1.0:
            raise InputError("type-confidence", f"the confidence {self.confidence} is not between 0 and 1")
        if not self.candidates and self.nil_reason is None:
            object.__setattr__(self, "nil_reason", "no-candidate")
        if self.tied == _COUNTED:
            object.__setattr__(self, "tied", sum(each.score == self.candidates[0].score for each in self.candidates[1:]))

    @property
    def answer(self) -> Candidate | None:
        """The best candidate, or None if the mention is unlinked (NIL)."""
        return None if self.nil_reason else self.candidates[0]

    @property
    def concept_id(self) -> str | None:
        """The concept id of the answer, such as `mondo:0005148`, or None if the mention is unlinked (NIL)."""
        return None if self.nil_reason else self.candidates[0].concept_id

    @property
    def obo_id(self) -> str | None:
        """The concept id of the answer with its prefix in upper case, such as `MONDO:0005148`, or None."""
        return None if self.nil_reason else self.candidates[0].obo_id

    @property
    def type(self) -> str:
        """The type of the mention; if the mention has none, the type of the best candidate."""
        return self.mention.type or (self.candidates[0].type if not self.nil_reason else "")

    @property
    def title(self) -> str:
        """A summary of the link, in lines: concept, type and confidence; the matched name; ties and the runner-up.

        >>> print(Link(Mention(0, 5, "Fever"), (Candidate("mesh:D005334", "pyrexia", 0.9, "Fever"),), stage="tfidf").title)
        MESH:D005334 Fever, score 0.90, by tfidf
        matched name: pyrexia, score 0.90
        """
        return "\n".join(self._title_lines())

    def _title_lines(self) -> Iterator[str]:
        if not self.candidates:
            yield f"not linked: {self.nil_reason}"
            return
        best, by = self.candidates[0], f"by {self.stage}" if self.stage else ""
        certainty = f"score {best.score:.2f}" if self.confidence is None else f"confidence {self.confidence:.2f}"
        parts = (_label(best), self.mention.type or best.type, certainty, by, *(self.assertion or ()))
        yield f"not linked: {self.nil_reason}; best candidate: " * bool(self.nil_reason) + ", ".join(filter(None, parts))
        if not best.name:  # annotated concepts have no names, and a second annotated concept is not a runner-up
            return
        yield f"matched name: {best.name}, score {best.score:.2f}"
        if self.tied:
            yield f"concepts with the same score: {self.tied} more"
        yield from (f"runner-up: {_label(each)}, score {each.score:.2f}" for each in self.candidates[1:2])


def _label(candidate: Candidate) -> str:
    return f"{candidate.obo_id} {candidate.preferred_name or candidate.name}"


EVIDENCE = plain_fields(Link, [each.name for each in fields(LinkEvidence)])
"""How the fields of `LinkEvidence` are serialised: the keys, columns and types in files, tables and HTTP replies."""
_ANSWER: dict[str, type] = {
    "document": str, "start": int, "end": int, "text": str, "type": str,
    "concept_id": str, "preferred_name": str, "matched_name": str, "score": float,
}  # fmt: skip
_ORDER = ("confidence", "ties", "stage", "nil_reason", "assertion")  # these columns of the evidence come first
_OF_EVIDENCE = {each.column: each for each in EVIDENCE if each.column}
_IN_ORDER = [_OF_EVIDENCE[name] for name in dict.fromkeys([*_ORDER, *_OF_EVIDENCE])]
_KINDS = _ANSWER | {each.column: each.cell_kind for each in _IN_ORDER}
COLUMNS = tuple(_KINDS)
"""The columns of the flat table of links, used by all outputs: one row per mention, with the best answer."""
Row = dict[str, Any]


def kinds_of(columns: Sequence[str] = COLUMNS) -> dict[str, type]:
    """Return the type of each column.

    >>> kinds_of(["start", "score", "text"])
    {'start': <class 'int'>, 'score': <class 'float'>, 'text': <class 'str'>}
    """
    return {name: _KINDS[name] for name in columns}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with a document: a permanent code, what is wrong, and where. It never contains document text.

    `document_id` is formatted by `onym.errors.format_id`: an id that looks like text is replaced by a digest. `source` and
    `ordinal` identify the document: file name, and number in the file. An ordinal of 0 means the whole file.
    """

    document_id: str
    code: str
    what: str
    where: str = ""
    source: str = field(default="", compare=False)
    ordinal: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "document_id", format_id(self.document_id))


_SHOWN = 5  # maximum number of links shown in the repr


@dataclass(frozen=True, slots=True, repr=False)
class LinkedDocument:
    """A document with one link per mention, in order. A document that could not be linked has problems instead.

    >>> LinkedDocument(Document("1", "fever"), problems=(Problem("1", "limit-record", "too long"),)).is_complete
    False
    """

    document: Document
    links: tuple[Link, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def id(self) -> str:
        """The id of the document."""
        return self.document.id

    @property
    def is_complete(self) -> bool:
        """True if the document was linked."""
        return not self.problems

    def rows(self, id_style: IdStyle = "obo") -> list[Row]:
        """Return the rows of the flat table: one per mention, in order.

        >>> fever = Mention(0, 5, "Fever")
        >>> link = Link(fever, (Candidate("mesh:D005334", "fever", 1.0),))
        >>> linked = LinkedDocument(Document("1", "Fever", (fever,)), (link,))
        >>> [(row["text"], row["concept_id"]) for row in linked.rows()]
        [('Fever', 'MESH:D005334')]
        """
        return [_row(self.document.id, link, id_style) for link in self.links]

    def to_dict(self) -> dict[str, Any]:
        """Return the document's id and text, its links with all candidates, and its problems, as JSON values."""
        problems = [{"code": each.code, "what": each.what, "where": each.where} for each in self.problems]
        links = self.rows()
        for row, link in zip(links, self.links, strict=True):
            row["candidates"] = [_candidate(each) for each in link.candidates]
            if link.extra:
                row["extra"] = dict(link.extra)
        return {"id": self.document.id, "text": self.document.text, "links": links, "problems": problems}

    def to_polars(self) -> pl.DataFrame:
        """Return the flat table as a polars DataFrame."""
        return frame_of([[row[name] for name in COLUMNS] for row in self.rows()], _KINDS)

    def to_pandas(self) -> pd.DataFrame:
        """Return the flat table as a pandas DataFrame; pandas must be installed."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS))

    def to_html(self, titles: Sequence[str] | None = None) -> str:
        """Return the text as HTML with highlighted mentions, without scripts, everything escaped.

        Assertion marks are written after their mentions, and negated mentions are struck through.
        `titles` replaces the tooltips, one per link; by default each is the link's `title`.
        """
        shown = zip(self.links, [link.title for link in self.links] if titles is None else titles, strict=True)
        marks = [
            Mark(link.mention.start, link.mention.end, title, link.type if link.answer else None, link.assertion or ())
            for link, title in shown
        ]
        return mark_text(self.document.text, marks)

    def _repr_html_(self) -> str:
        """Display the text with highlighted mentions in a notebook."""
        return self.to_html()

    def __repr__(self) -> str:
        """Return ids and offsets only, to keep document text out of logs."""
        if self.problems:
            return f"<LinkedDocument {format_id(self.document.id)}: {self.problems[0].code}>"
        shown = [f"{link.mention.start}-{link.mention.end} {link.obo_id or 'NIL'}" for link in self.links[:_SHOWN]]
        more = ", ..." if len(self.links) > _SHOWN else ""
        return f"<LinkedDocument {format_id(self.document.id)}: {len(self.links)} links: {', '.join(shown)}{more}>"


def _row(document_id: str, link: Link, id_style: IdStyle) -> Row:
    mention, best = link.mention, link.answer
    row: Row = {
        "document": document_id,
        "start": mention.start,
        "end": mention.end,
        "text": mention.surface,
        "type": link.type or None,
        "concept_id": style_id(best.concept_id, id_style) if best else None,
        "preferred_name": best.preferred_name or None if best else None,
        "matched_name": best.name if best else None,
        "score": best.score if best else None,
    }
    for each in _IN_ORDER:
        row[each.column] = each.to_cell(getattr(link, each.name))
    return row


def _candidate(candidate: Candidate) -> Row:
    return {
        "concept_id": candidate.obo_id,
        "preferred_name": candidate.preferred_name,
        "matched_name": candidate.name,
        "score": candidate.score,
    }
