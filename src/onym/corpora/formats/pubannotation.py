"""PubAnnotation JSON: a text with denotations, attributes and relations. Concept ids are attributes named `concept_id`.

If the `obj` of a denotation looks like an id (`MESH:D003924`, or a URL), it is the concept id, not the type. Other attributes
of a denotation become notes of the mention.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from onym.corpora.base import ALL, Draft, Facet, Item, MalformedError, Output, Segment, Style
from onym.corpora.formats._files import any_looks, head, iter_objects
from onym.corpora.formats._segments import iter_json_segments
from onym.corpora.plain import Plain, number, objects, string
from onym.kb.curie import to_curie
from onym.store.files.source import InputFile, Source
from onym.types import Document, Mention, Offsets, Relation, style_id

HOLDS: frozenset[Facet] = ALL - {"passages", "notes"}
IS_FOLDER = False

_ID = re.compile(r"https?://\S+|[A-Za-z][A-Za-z0-9_.]*:[A-Za-z]{0,5}_?[0-9]+")
_MADE = re.compile(r"#[TR][0-9]+")
_OBJ, _CONCEPT = "obj", "concept_id"
_KEPT = ("sourcedb", "divid", "project", "target")


def matches(source: Source) -> bool:
    """Return whether a file is JSON with denotations."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the documents of a file as bytes, and the bytes between them."""
    return iter_json_segments(file)


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. Types that look like ids, and relations without two arguments, are lost."""
    lost: set[Facet] = set()
    if any(_ID.fullmatch(mention.type) for mention in document.mentions):
        lost |= {"types", "concept ids", "composites"}
    if any(to_curie(_format_id(curie, ""), "local") != curie for mention in document.mentions for curie in mention.concept_ids):
        lost |= {"concept ids", "composites"}
    names = [mention.id for mention in document.mentions if mention.id]
    if len(set(names)) < len(names) or any(map(_MADE.fullmatch, names)):
        lost |= {"mention ids", "concept ids", "composites", "types"}
    if any([role for role, _ in relation.arguments] != ["Arg1", "Arg2"] for relation in document.relations):
        lost.add("relations")
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write all documents as one JSON list, with one document per line."""
    with output.file() as file:
        file.write(b"[")
        for index, document in enumerate(documents):
            plain = json.dumps(_plain(document, style), ensure_ascii=False, separators=(",", ":"))
            file.write((",\n" if index else "\n").encode() + plain.encode())
        file.write(b"\n]\n")


def _looks_right(file: InputFile) -> bool:
    data = head(file)
    return data[:1] in (b"{", b"[") and (b'"denotations"' in data or b'"sourceid"' in data)


def _read_file(file: InputFile) -> Iterator[Item]:
    for where, plain in iter_objects(file):
        if isinstance(plain, MalformedError):
            yield plain.problem()
            continue
        document_id = _to_text(plain.get("sourceid")) or file.stem.removesuffix(".json")
        try:
            yield from _draft(plain, document_id, where).items()
        except MalformedError as e:
            yield e.problem(document_id)


def _draft(plain: Plain, document_id: str, where: str) -> Draft:
    notes = tuple((key, _to_text(plain[key])) for key in _KEPT if plain.get(key) is not None)
    draft = Draft(document_id, string(plain, "text", where), notes)
    attributes: dict[str, list[tuple[str, str]]] = {}
    for attribute in objects(plain, "attributes", where):
        pair = (string(attribute, "pred", where), _to_text(attribute.get("obj")))
        attributes.setdefault(string(attribute, "subj", where), []).append(pair)
    for denotation in objects(plain, "denotations", where):
        _add_mention(draft, denotation, attributes, where)
    for relation in objects(plain, "relations", where):
        arguments = (("Arg1", string(relation, "subj", where)), ("Arg2", string(relation, "obj", where)))
        draft.relations.append(Relation(string(relation, "pred", where), arguments, string(relation, "id", where)))
    return draft


def _add_mention(draft: Draft, plain: Plain, attributes: dict[str, list[tuple[str, str]]], where: str) -> None:
    spans = _spans(plain, where)
    name = string(plain, "id", where)
    said = attributes.get(name, [])
    kind, ids = _to_text(plain.get(_OBJ)), [to_curie(value, "local") for key, value in said if key == _CONCEPT]
    notes = [pair for pair in said if pair[0] != _CONCEPT]
    if not ids and _ID.fullmatch(kind):
        ids, kind, notes = [to_curie(kind)], "", [(_OBJ, kind), *notes]
    draft.add(
        min((start for start, _ in spans), default=0),
        max((end for _, end in spans), default=0),
        concept_ids=tuple(ids),
        type=kind,
        id="" if _MADE.fullmatch(name) else name,
        parts=tuple(spans) if len(spans) > 1 else (),
        notes=tuple(notes),
        where=where,
    )


def _spans(plain: Plain, where: str) -> list[Offsets]:
    span = plain.get("span")
    found: list[Any] = span if isinstance(span, list) else [span]
    if not all(isinstance(each, dict) for each in found):
        raise MalformedError("a denotation has no 'span'", where)
    return [(number(each, "begin", where), number(each, "end", where)) for each in found]


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _format_id(curie: str, style: Style) -> str:
    return style_id(curie, style or "obo")


def _plain(document: Document, style: Style) -> Plain:
    notes = {key: value for key, value in document.notes if key in _KEPT}
    attributes: list[Plain] = []
    denotations = []
    for index, mention in enumerate(document.mentions, 1):
        name = mention.id or f"#T{index}"
        denotations.append(_denotation(mention, name))
        attributes += [{"subj": name, "pred": key, "obj": value} for key, value in _attributes(mention, style)]
    return {
        "sourceid": document.id,
        **notes,
        "text": document.text,
        "denotations": denotations,
        "attributes": [{"id": f"A{index}", **each} for index, each in enumerate(attributes, 1)],
        "relations": [
            {
                **({"id": relation.id} if relation.id else {}),
                "pred": relation.type,
                "subj": relation.arguments[0][1],
                "obj": relation.arguments[1][1],
            }
            for relation in document.relations
            if len(relation.arguments) == 2
        ],
    }


def _denotation(mention: Mention, name: str) -> Plain:
    spans = [{"begin": start, "end": end} for start, end in mention.parts or ((mention.start, mention.end),)]
    kind = dict(mention.notes).get(_OBJ, "") if _is_object(mention) else mention.type
    return {"id": name, "span": spans if len(spans) > 1 else spans[0], _OBJ: kind}


def _is_object(mention: Mention) -> bool:
    """Return whether the mention's concept id was read from the `obj` of its denotation."""
    noted = dict(mention.notes).get(_OBJ, "")
    return not mention.type and _ID.fullmatch(noted) is not None and (to_curie(noted),) == mention.concept_ids


def _attributes(mention: Mention, style: Style) -> Iterator[tuple[str, str]]:
    if _is_object(mention):
        yield from (note for note in mention.notes if note[0] not in (_OBJ, _CONCEPT))
        return
    yield from ((_CONCEPT, _format_id(curie, style)) for curie in mention.concept_ids)
    yield from (note for note in mention.notes if note[0] != _CONCEPT)
