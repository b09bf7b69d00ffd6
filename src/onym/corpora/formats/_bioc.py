"""The BioC data model shared by XML and JSON: passages with offsets, annotations with locations, relations, infons.

Offsets count from the beginning of the document. The specification counts bytes, but most files count code points. For
each document, the unit is chosen in which more annotations match the text. If that is bytes, a problem reports it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from onym.corpora.base import ALL, Draft, Facet, Item, MalformedError, Style
from onym.corpora.ids import KEY, format_ids, keeps_ids, parse_ids, parse_ids_with_note
from onym.errors import InputError
from onym.store.limits import DEFAULT_LIMITS
from onym.types import Document, Mention, Notes, Offsets, Passage, Problem, Relation

Unit = Literal["utf8", "utf16"]


class Units:
    """Converts offsets of a text between code points and UTF-8 bytes or UTF-16 code units.

    >>> units = Units("TNF-\\u03b1 \\U0001f9ec", "utf8")
    >>> units.of(5), units.code_point(6)
    (6, 5)
    """

    def __init__(self, text: str, unit: Unit) -> None:
        self._unit = unit
        self._is_plain = text.isascii()
        self._length = len(text)
        self._ends = [] if self._is_plain else [0, *accumulate(_sizes(text, unit))]

    def of(self, offset: int) -> int:
        """Convert an offset in code points to this unit."""
        if not 0 <= offset <= self._length:
            raise InputError("offset-unit", f"offset {offset} is outside a text of {self._length} code points")
        return offset if self._is_plain else self._ends[offset]

    def code_point(self, offset: int) -> int:
        """Convert an offset in this unit to code points; raise InputError if the offset is inside a character."""
        if self._is_plain:
            return self._length if offset == self._length else self.of(offset)
        found = bisect_left(self._ends, offset)
        if found >= len(self._ends) or self._ends[found] != offset:
            raise InputError("offset-unit", f"{self._unit} offset {offset} is not at a character boundary of the text")
        return found


def _sizes(text: str, unit: Unit) -> list[int]:
    if unit == "utf16":
        return [2 if char > "\uffff" else 1 for char in text]
    return [1 if char < "\x80" else 2 if char < "\u0800" else 3 if char < "\U00010000" else 4 for char in text]


_TYPE, _IDENTIFIER = "type", "identifier"
# Keys of infons that contain concept ids -> the prefix to add to ids that have no prefix.
_ID_KEYS = {"identifier": "", "MESH": "mesh", "OMIM": "omim", "NCBI GENE": "ncbigene", "NCBI Gene": "ncbigene"}
_ID_KEYS |= {"NCBI Taxonomy": "ncbitaxon", "CUI": "umls", "UMLS": "umls", "HPO": "hp"}
_RESERVED = frozenset({_TYPE, _IDENTIFIER})
_MAX_TEXT = DEFAULT_LIMITS.document_bytes


@dataclass
class BiocAnnotation:
    """An annotation; each location is (offset, length)."""

    id: str
    infons: Notes
    locations: tuple[tuple[int, int], ...]
    text: str | None


@dataclass
class BiocRelation:
    """A relation; each node is (role, reference)."""

    id: str
    infons: Notes
    nodes: tuple[tuple[str, str], ...]


@dataclass
class BiocPassage:
    """A passage, or a sentence of a passage."""

    offset: int
    infons: Notes
    text: str


@dataclass
class BiocDocument:
    """A document in the BioC data model."""

    id: str
    infons: Notes = ()
    passages: list[BiocPassage] = field(default_factory=list)
    annotations: list[BiocAnnotation] = field(default_factory=list)
    relations: list[BiocRelation] = field(default_factory=list)


def items_of(bioc: BiocDocument, where: str) -> Iterator[Item]:
    """Yield the problems of a BioC document, then the document."""
    draft = _draft(bioc, where, _code_points)
    if draft.problems and not draft.text.isascii():
        in_bytes = _draft(bioc, where, _bytes)
        if len(in_bytes.problems) < len(draft.problems):
            draft = in_bytes
            draft.problems.insert(0, Problem(bioc.id, "corpus-bytes", "offsets count bytes, not code points", where))
    yield from draft.items()


def bioc_of(document: Document, style: Style = "") -> BiocDocument:
    """Convert a document to BioC. If its passages do not cover the text, the whole text becomes one passage."""
    bioc = BiocDocument(document.id, document.notes)
    passages = document.passages if covers(document) else (Passage(0, len(document.text)),)
    for passage in passages:
        infons = ((_TYPE, passage.kind), *passage.notes) if passage.kind else passage.notes
        bioc.passages.append(BiocPassage(passage.start, infons, document.text[passage.start : passage.end]))
    bioc.annotations += [_annotation(mention, document.text, style) for mention in document.mentions]
    for relation in document.relations:
        infons = ((_TYPE, relation.type), *relation.notes) if relation.type else relation.notes
        bioc.relations.append(BiocRelation(relation.id, infons, relation.arguments))
    return bioc


def by_passage(bioc: BiocDocument) -> list[list[BiocAnnotation]]:
    """Return the annotations of each passage. An annotation belongs to the last passage that starts at or before it."""
    found: list[list[BiocAnnotation]] = [[] for _ in bioc.passages]
    for annotation in bioc.annotations:
        start = min(offset for offset, _ in annotation.locations)
        number = max((n for n, passage in enumerate(bioc.passages) if passage.offset <= start), default=0)
        found[number].append(annotation)
    return found


def find_bioc_facets(document: Document, *, unique_keys: bool) -> frozenset[Facet]:
    """Return the facets that BioC preserves. Set `unique_keys` for JSON, where infons cannot have duplicate keys."""
    lost: set[Facet] = set()
    if document.passages and not covers(document):
        lost.add("passages")
    if any(not keeps_ids(mention) for mention in document.mentions):
        lost |= {"concept ids", "composites"}
    notes = [document.notes, *(mention.notes for mention in document.mentions)]
    notes += [passage.notes for passage in document.passages]
    notes += [relation.notes for relation in document.relations]
    if any(_is_reserved(each) or (unique_keys and len(dict(each)) < len(each)) for each in notes) or (
        "passages" in lost and any(passage.notes for passage in document.passages)
    ):
        lost.add("notes")
    if any(not _keeps_notes(mention) for mention in document.mentions):
        lost |= {"notes", "concept ids", "composites"}
    return ALL - lost


def _is_reserved(notes: Notes) -> bool:
    return any(key in _RESERVED for key, _ in notes)


def _keeps_notes(mention: Mention) -> bool:
    """Return whether type, ids and notes of a mention are read back unchanged. Notes with some keys are read back as ids."""
    infons = _mention_infons(mention, "")
    return _meaning(infons) == (mention.type, mention.concept_ids, mention.notes)


def covers(document: Document) -> bool:
    """Return whether the passages are consecutive and cover the text, except for spaces between them.

    Return False for a single passage without kind and notes, because it adds no information to the text.
    """
    offset = 0
    for passage in document.passages:
        if passage.start < offset or document.text[offset : passage.start].strip(" "):
            return False
        offset = passage.end
    is_said = document.passages[1:] or any(passage.kind or passage.notes for passage in document.passages)
    return bool(is_said) and offset == len(document.text)


def _annotation(mention: Mention, text: str, style: Style) -> BiocAnnotation:
    spans = mention.parts or ((mention.start, mention.end),)
    locations = tuple((start, end - start) for start, end in spans)
    surface = " ".join(text[start:end] for start, end in spans)
    return BiocAnnotation(mention.id, _mention_infons(mention, style), locations, surface)


def _mention_infons(mention: Mention, style: Style) -> Notes:
    infons: Notes = ((_TYPE, mention.type),) if mention.type else ()
    others = mention.notes
    if not style and _ids_of(others, mention.type) == mention.concept_ids and KEY not in dict(others):
        return (*infons, *others)
    text = format_ids(mention, style)
    if text == dict(others).get(KEY):
        others = tuple(note for note in others if note[0] != KEY)
    elif not mention.concept_ids and not _ids_of(others, mention.type):
        return (*infons, *others)
    return (*infons, (_IDENTIFIER, text or "-"), *others)


def _meaning(infons: Notes) -> tuple[str, tuple[str, ...], Notes]:
    """Parse the infons of an annotation into type, concept ids and notes."""
    first = dict(reversed(infons))
    kind = first.get(_TYPE, "")
    others = tuple(infon for infon in infons if infon[0] not in _RESERVED)
    if _IDENTIFIER not in first:
        return kind, _ids_of(others, kind), others
    text = first[_IDENTIFIER]
    concept_ids, notes = parse_ids_with_note(text, kind)
    is_only_said = text == "-" and _ids_of(others, kind)
    return kind, concept_ids, others if is_only_said else (*(notes or _none(text, concept_ids)), *others)


def _none(text: str, concept_ids: tuple[str, ...]) -> Notes:
    return () if concept_ids else ((KEY, text),)


def _ids_of(notes: Notes, kind: str) -> tuple[str, ...]:
    """Return the concept ids in infons other than `identifier`."""
    found = (parse_ids(text, kind, _ID_KEYS[key]) for key, text in notes if key in _ID_KEYS)
    return tuple(concept_id for ids in found for concept_id in ids)


_Layout = Callable[[BiocDocument, str], tuple[str, list[int], Callable[[int], int]]]


def _draft(bioc: BiocDocument, where: str, layout: _Layout) -> Draft:
    text, starts, to_code_point = layout(bioc, where)
    draft = Draft(bioc.id, text, bioc.infons)
    for start, passage in zip(starts, bioc.passages, strict=True):
        kind = dict(reversed(passage.infons)).get(_TYPE, "")
        notes = tuple(infon for infon in passage.infons if infon[0] != _TYPE)
        draft.passages.append(Passage(start, start + len(passage.text), kind, notes))
    if len(draft.passages) == 1 and draft.passages[0] == Passage(0, len(text)):
        draft.passages.clear()
    for annotation in bioc.annotations:
        _add(draft, annotation, to_code_point, where)
    for relation in bioc.relations:
        kind = dict(reversed(relation.infons)).get(_TYPE, "")
        notes = tuple(infon for infon in relation.infons if infon[0] != _TYPE)
        draft.relations.append(Relation(kind, relation.nodes, relation.id, notes))
    return draft


def _code_points(bioc: BiocDocument, where: str) -> tuple[str, list[int], Callable[[int], int]]:
    text, starts = pad_passages(((passage.offset, passage.text) for passage in bioc.passages), where, len)
    return text, starts, lambda offset: offset


def _bytes(bioc: BiocDocument, where: str) -> tuple[str, list[int], Callable[[int], int]]:
    passages = ((passage.offset, passage.text) for passage in bioc.passages)
    text, starts = pad_passages(passages, where, lambda piece: len(piece.encode()))
    units = Units(text, "utf8")
    return text, [units.code_point(start) for start in starts], units.code_point


def pad_passages(passages: Iterable[tuple[int, str]], where: str, size: Callable[[str], int]) -> tuple[str, list[int]]:
    """Join passages to one text, with spaces so that each starts at its offset; return the text and the offsets."""
    pieces: list[str] = []
    starts: list[int] = []
    end = 0
    for offset, text in passages:
        if offset < end:
            raise MalformedError("two passages overlap", where)
        if offset > _MAX_TEXT:
            raise MalformedError(f"the offset of a passage is larger than {_MAX_TEXT:,}", where)
        pieces += (" " * (offset - end), text)
        starts.append(offset)
        end = offset + size(text)
    return "".join(pieces), starts


def _add(draft: Draft, annotation: BiocAnnotation, to_code_point: Callable[[int], int], where: str) -> None:
    kind, concept_ids, notes = _meaning(annotation.infons)
    spot = f"{where}, annotation {annotation.id}" if annotation.id else where
    try:
        spans: list[Offsets] = [
            (to_code_point(offset), to_code_point(offset + length)) for offset, length in annotation.locations
        ]
    except InputError:
        spans = []
    start = min((span[0] for span in spans), default=0)
    end = max((span[1] for span in spans), default=0)
    parts = tuple(spans) if len(spans) > 1 else ()
    fields = {"type": kind, "id": annotation.id}
    draft.add(start, end, annotation.text, concept_ids=concept_ids, parts=parts, notes=notes, where=spot, **fields)
