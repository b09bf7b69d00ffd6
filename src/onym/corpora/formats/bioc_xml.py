"""BioC in XML: passages, annotations, relations and infons. If the text is in sentences, each is read as a passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from onym.corpora.base import ALL, Facet, Item, MalformedError, Output, Segment, Style
from onym.corpora.formats._bioc import (
    BiocAnnotation,
    BiocDocument,
    BiocPassage,
    BiocRelation,
    bioc_of,
    by_passage,
    find_bioc_facets,
    items_of,
)
from onym.corpora.formats._files import any_looks, head
from onym.corpora.formats._segments import iter_element_segments
from onym.store.files.source import InputFile, Source
from onym.store.files.xml import iter_records
from onym.types import Document, Notes

if TYPE_CHECKING:
    from onym.store.files.xml import Element

HOLDS: frozenset[Facet] = ALL
IS_FOLDER = False
DECODES = True
EXTENSIONS = (".biocxml",)

_BEGIN = re.compile(rb"<(?:\?xml|!DOCTYPE|!--|collection)")
_INTEGER = re.compile(r"[0-9]{1,9}")
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n'
    "<collection><source></source><date></date><key></key>\n"
)
# Characters that XML 1.0 does not allow, even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}
_TEXT = str.maketrans(_ESCAPES)
_ATTRIBUTE = str.maketrans(_ESCAPES | {"\n": "&#10;", "\t": "&#9;"})


def matches(source: Source) -> bool:
    """Return whether a file is XML with a `collection`."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the documents of a file as bytes, and the bytes between them."""
    return iter_element_segments(file, "document")


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. Passages must cover the text, and XML must allow all characters."""
    facets = find_bioc_facets(document, unique_keys=False)
    if _FORBIDDEN.search(document.text):
        facets -= {"text"}
    strings = [document.id, *(part for note in document.notes for part in note)]
    for mention in document.mentions:
        strings += [mention.type, mention.id, *mention.concept_ids, *(part for note in mention.notes for part in note)]
    for passage in document.passages:
        strings += [passage.kind, *(part for note in passage.notes for part in note)]
    for relation in document.relations:
        pairs = (*relation.arguments, *relation.notes)
        strings += [relation.type, relation.id, *(part for pair in pairs for part in pair)]
    if any(_FORBIDDEN.search(text) for text in strings):
        facets &= {"text", "mentions", "discontinuous"}
    return facets


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write all documents as one XML collection; each character that XML forbids is replaced by U+FFFD."""
    with output.file() as file:
        file.write(_HEAD.encode())
        for document in documents:
            file.write("".join(_document(bioc_of(document, style))).encode())
        file.write(b"</collection>\n")


def _looks_right(file: InputFile) -> bool:
    data = head(file)
    return _BEGIN.match(data) is not None and b"<collection" in data


def _read_file(file: InputFile) -> Iterator[Item]:
    for number, element in enumerate(iter_records(file, frozenset({"document"})), 1):
        document_id = _child(element, "id")
        where = f"{file.name}, document {number}"
        try:
            yield from items_of(_bioc(element, document_id, where), where)
        except MalformedError as e:
            yield e.problem(document_id)


def _bioc(element: Element, document_id: str, where: str) -> BiocDocument:
    bioc = BiocDocument(document_id, _infons(element))
    for passage in element.findall("passage"):
        _add_passage(bioc, passage, where)
        bioc.relations += [_relation(relation) for relation in passage.iter("relation")]
    bioc.annotations += [_annotation(annotation, where) for annotation in element.iter("annotation")]
    bioc.relations += [_relation(relation) for relation in element.findall("relation")]
    return bioc


def _add_passage(bioc: BiocDocument, element: Element, where: str) -> None:
    infons = _infons(element)
    sentences = element.findall("sentence") if element.find("text") is None else []
    for part in sentences or [element]:
        own = infons if part is element else (*infons, *_infons(part))
        bioc.passages.append(BiocPassage(_number(_child(part, "offset"), where), own, _child(part, "text")))


def _annotation(element: Element, where: str) -> BiocAnnotation:
    locations = tuple(
        (_number(location.get("offset") or "", where), _number(location.get("length") or "", where))
        for location in element.findall("location")
    )
    text = element.find("text")
    surface = None if text is None else text.text or ""
    return BiocAnnotation(element.get("id") or "", _infons(element), locations, surface)


def _relation(element: Element) -> BiocRelation:
    nodes = tuple((node.get("role") or "", node.get("refid") or "") for node in element.findall("node"))
    return BiocRelation(element.get("id") or "", _infons(element), nodes)


def _infons(element: Element) -> Notes:
    return tuple((infon.get("key") or "", infon.text or "") for infon in element.findall("infon"))


def _child(element: Element, tag: str) -> str:
    return element.findtext(tag) or ""


def _number(text: str, where: str) -> int:
    if not _INTEGER.fullmatch(text.strip()):
        raise MalformedError("an offset or a length is not an integer", where)
    return int(text)


def _document(bioc: BiocDocument) -> Iterator[str]:
    yield f"<document><id>{_text(bioc.id)}</id>{_infon_tags(bioc.infons)}\n"
    for passage, inside in zip(bioc.passages, by_passage(bioc), strict=True):
        yield f"<passage>{_infon_tags(passage.infons)}<offset>{passage.offset}</offset><text>{_text(passage.text)}</text>\n"
        yield from map(_annotation_tag, inside)
        yield "</passage>\n"
    for relation in bioc.relations:
        nodes = "".join(f'<node refid="{_value(refid)}" role="{_value(role)}"/>' for role, refid in relation.nodes)
        yield f"<relation{_id(relation.id)}>{_infon_tags(relation.infons)}{nodes}</relation>\n"
    yield "</document>\n"


def _annotation_tag(annotation: BiocAnnotation) -> str:
    locations = "".join(f'<location offset="{offset}" length="{length}"/>' for offset, length in annotation.locations)
    surface = f"<text>{_text(annotation.text or '')}</text>"
    return f"<annotation{_id(annotation.id)}>{_infon_tags(annotation.infons)}{locations}{surface}</annotation>\n"


def _infon_tags(infons: Notes) -> str:
    return "".join(f'<infon key="{_value(key)}">{_text(value)}</infon>' for key, value in infons)


def _id(text: str) -> str:
    return f' id="{_value(text)}"' if text else ""


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text).translate(_TEXT)


def _value(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text).translate(_ATTRIBUTE)
