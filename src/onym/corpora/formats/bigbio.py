"""BigBIO's KB schema as JSON or JSONL: passages, entities with normalised ids, relations; events and coreferences as notes.

The schema requires ids for entities and relations. Missing ids are generated (`DOCUMENT#T1`), and dropped again on reading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from onym.corpora.base import ALL, Draft, Facet, Item, MalformedError, Output, Segment, Style
from onym.corpora.formats._bioc import covers, pad_passages
from onym.corpora.formats._files import any_looks, head, iter_objects
from onym.corpora.formats._segments import iter_json_segments
from onym.corpora.plain import Plain, objects, pairs_of, string, strings
from onym.kb.curie import to_curie
from onym.store.files.source import InputFile, Source
from onym.types import Document, Mention, Notes, Offsets, Passage, Relation

HOLDS: frozenset[Facet] = ALL - {"notes"}
IS_FOLDER = False

_NONE = frozenset({"", "-", "-1", "null", "none", "cui-less"})
_KEPT = ("events", "coreferences")


def matches(source: Source) -> bool:
    """Return whether a file is JSON with documents that have passages and entities."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the documents of a file as bytes, and the bytes between them."""
    return iter_json_segments(file)


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. Relations need two arguments, and passages must cover the text."""
    lost: set[Facet] = set()
    bare = replace(document, passages=tuple(replace(passage, notes=()) for passage in document.passages))
    if document.passages and not (covers(bare) and not any(passage.start == passage.end for passage in document.passages)):
        lost.add("passages")
    if any(_curie(_split_id(curie, "")) != curie for mention in document.mentions for curie in mention.concept_ids):
        lost |= {"concept ids", "composites"}
    if any(_is_made(mention.id, document.id, "T") for mention in document.mentions):
        lost.add("mention ids")
    if any(
        [role for role, _ in relation.arguments] != ["Arg1", "Arg2"] or _is_made(relation.id, document.id, "R")
        for relation in document.relations
    ):
        lost.add("relations")
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write one JSON object per line."""
    with output.file() as file:
        for document in documents:
            plain = json.dumps(_plain(document, style), ensure_ascii=False, separators=(",", ":"))
            file.write(plain.encode() + b"\n")


def _looks_right(file: InputFile) -> bool:
    data = head(file)
    return data[:1] in (b"{", b"[") and b'"document_id"' in data and b'"passages"' in data


def _read_file(file: InputFile) -> Iterator[Item]:
    for where, plain in iter_objects(file):
        if isinstance(plain, MalformedError):
            yield plain.problem()
            continue
        document_id = str(plain.get("document_id") or plain.get("id") or "")
        try:
            yield from _draft(plain, document_id, where).items()
        except MalformedError as e:
            yield e.problem(document_id)


def _draft(plain: Plain, document_id: str, where: str) -> Draft:
    found = [_passage(passage, where) for passage in objects(plain, "passages", where)]
    text, _ = pad_passages(((start, piece) for start, piece, _ in found), where, len)
    draft = Draft(document_id, text, _copy_notes(plain))
    draft.passages += [Passage(start, start + len(piece), kind) for start, piece, kind in found]
    if len(draft.passages) == 1 and draft.passages[0] == Passage(0, len(text)):
        draft.passages.clear()
    for entity in objects(plain, "entities", where):
        _add_entity(draft, entity, where)
    for relation in objects(plain, "relations", where):
        arguments = (("Arg1", string(relation, "arg1_id", where)), ("Arg2", string(relation, "arg2_id", where)))
        name = _own(string(relation, "id", where), document_id, "R")
        draft.relations.append(Relation(string(relation, "type", where), arguments, name))
    return draft


def _copy_notes(plain: Plain) -> Notes:
    return tuple((key, json.dumps(plain[key], ensure_ascii=False)) for key in _KEPT if plain.get(key))


def _passage(plain: Plain, where: str) -> tuple[int, str, str]:
    spans = pairs_of(plain, "offsets", int, where)
    text = " ".join(strings(plain, "text", where))
    if not spans:
        raise MalformedError("a passage has no offsets", where)
    return spans[0][0], text, string(plain, "type", where)


def _add_entity(draft: Draft, plain: Plain, where: str) -> None:
    spans: list[Offsets] = list(pairs_of(plain, "offsets", int, where))
    surface = " ".join(strings(plain, "text", where))
    normalised = objects(plain, "normalized", where)
    pairs = [(string(each, "db_name", where), string(each, "db_id", where)) for each in normalised]
    draft.add(
        min((start for start, _ in spans), default=0),
        max((end for _, end in spans), default=0),
        surface or None,
        concept_ids=tuple(_curie(pair) for pair in pairs if pair[1].lower() not in _NONE),
        type=string(plain, "type", where),
        id=_own(string(plain, "id", where), draft.id, "T"),
        parts=tuple(spans) if len(spans) > 1 else (),
        where=where,
    )


def _curie(pair: tuple[str, str]) -> str:
    name, local = pair
    return to_curie(f"{name}:{local}") if name else to_curie(local, "local")


def _split_id(curie: str, style: Style) -> tuple[str, str]:
    prefix, _, local = curie.partition(":")
    return (prefix if style == "curie" else prefix.upper()), local


def _is_made(name: str, document_id: str, kind: str) -> bool:
    return re.fullmatch(re.escape(f"{document_id}#{kind}") + "[0-9]+", name) is not None


def _own(name: str, document_id: str, kind: str) -> str:
    return "" if _is_made(name, document_id, kind) else name


def _plain(document: Document, style: Style) -> Plain:
    passages = document.passages if "passages" in preserved_facets(document) else ()
    notes = dict(document.notes)
    return {
        "id": document.id,
        "document_id": document.id,
        "passages": [
            {
                "id": f"{document.id}#P{number}",
                "type": passage.kind,
                "text": [document.text[passage.start : passage.end]],
                "offsets": [[passage.start, passage.end]],
            }
            for number, passage in enumerate(passages or (Passage(0, len(document.text)),), 1)
        ],
        "entities": [_entity(mention, number, document, style) for number, mention in enumerate(document.mentions, 1)],
        "events": _list(notes.get("events", "")),
        "coreferences": _list(notes.get("coreferences", "")),
        "relations": [
            {
                "id": relation.id or f"{document.id}#R{number}",
                "type": relation.type,
                "arg1_id": relation.arguments[0][1],
                "arg2_id": relation.arguments[1][1],
                "normalized": [],
            }
            for number, relation in enumerate(document.relations, 1)
            if len(relation.arguments) == 2
        ],
    }


def _list(text: str) -> list[object]:
    try:
        value = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def _entity(mention: Mention, number: int, document: Document, style: Style) -> Plain:
    spans = mention.parts or ((mention.start, mention.end),)
    pairs = (_split_id(curie, style) for curie in mention.concept_ids)
    return {
        "id": mention.id or f"{document.id}#T{number}",
        "type": mention.type,
        "text": [document.text[start:end] for start, end in spans],
        "offsets": [list(span) for span in spans],
        "normalized": [{"db_name": name, "db_id": local} for name, local in pairs],
    }
