"""Documents as plain values: what Onym's own formats, JSONL and Parquet, hold of them, which is everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onym.corpora.base import Item
from onym.corpora.draft import Draft, MalformedError
from onym.types import Document, Mention, Notes, Passage, Relation

Plain = dict[str, Any]


def to_plain(document: Document) -> Plain:
    """Return a document as plain values; what is empty is left out.

    >>> to_plain(Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),)))["mentions"]
    [{'start': 5, 'end': 10, 'surface': 'fever', 'concept_ids': ['mesh:D005334']}]
    """
    plain: Plain = {"id": document.id, "text": document.text}
    lists = {
        "mentions": [_mention(mention) for mention in document.mentions],
        "passages": [_passage(passage) for passage in document.passages],
        "relations": [_relation(relation) for relation in document.relations],
        "notes": _pairs(document.notes),
    }
    return plain | {key: value for key, value in lists.items() if value}


def from_plain(plain: Any, where: str) -> Iterator[Item]:
    """Yield the document of plain values, after the problems in it."""
    if not isinstance(plain, dict):
        raise MalformedError("a document is not an object", where)
    document_id = string(plain, "id", where)
    try:
        draft = Draft(document_id, string(plain, "text", where), _notes(plain, where))
        for passage in objects(plain, "passages", where):
            draft.passages.append(_read_passage(passage, draft.text, where))
        for mention in objects(plain, "mentions", where):
            _add_mention(draft, mention, where)
        for relation in objects(plain, "relations", where):
            draft.relations.append(_read_relation(relation, where))
    except MalformedError as e:
        e.document_id = document_id
        raise
    yield from draft.items()


def string(plain: Plain, key: str, where: str) -> str:
    """Return the string at `key`; empty where there is none."""
    value = plain.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedError(f"{key!r} should be a string", where)
    return value


def number(plain: Plain, key: str, where: str) -> int:
    """Return the whole number at `key`."""
    value = plain.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedError(f"{key!r} should be a whole number", where)
    return value


def objects(plain: Plain, key: str, where: str) -> list[Plain]:
    """Return the list of objects at `key`, empty where there is none."""
    value = plain.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(member, dict) for member in value):
        raise MalformedError(f"{key!r} should be a list of objects", where)
    return value


def strings(plain: Plain, key: str, where: str) -> tuple[str, ...]:
    """Return the list of strings at `key`, empty where there is none."""
    value = plain.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(member, str) for member in value):
        raise MalformedError(f"{key!r} should be a list of strings", where)
    return tuple(value)


def pairs_of(plain: Plain, key: str, of: type[str | int], where: str) -> tuple[tuple[Any, Any], ...]:
    """Return the list of pairs at `key`, empty where there is none."""
    value = plain.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(_is_pair(member, of) for member in value):
        raise MalformedError(f"{key!r} should be a list of pairs", where)
    return tuple((first, second) for first, second in value)


def _is_pair(value: Any, of: type[str | int]) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(member) is of for member in value)


def _notes(plain: Plain, where: str) -> Notes:
    return pairs_of(plain, "notes", str, where)


def _pairs(pairs: tuple[tuple[Any, Any], ...]) -> list[list[Any]]:
    return [list(pair) for pair in pairs]


def _mention(mention: Mention) -> Plain:
    plain = {"start": mention.start, "end": mention.end, "surface": mention.surface}
    more = {
        "concept_ids": list(mention.concept_ids),
        "type": mention.type,
        "id": mention.id,
        "parts": _pairs(mention.parts),
        "notes": _pairs(mention.notes),
    }
    return plain | {key: value for key, value in more.items() if value}


def _passage(passage: Passage) -> Plain:
    plain = {"start": passage.start, "end": passage.end, "kind": passage.kind}
    return plain | ({"notes": _pairs(passage.notes)} if passage.notes else {})


def _relation(relation: Relation) -> Plain:
    plain = {"type": relation.type, "arguments": _pairs(relation.arguments)}
    more = {"id": relation.id, "notes": _pairs(relation.notes)}
    return plain | {key: value for key, value in more.items() if value}


def _add_mention(draft: Draft, plain: Plain, where: str) -> None:
    surface = string(plain, "surface", where)
    draft.add(
        number(plain, "start", where),
        number(plain, "end", where),
        surface or None,
        concept_ids=strings(plain, "concept_ids", where),
        type=string(plain, "type", where),
        id=string(plain, "id", where),
        parts=pairs_of(plain, "parts", int, where),
        notes=_notes(plain, where),
        where=where,
    )


def _read_passage(plain: Plain, text: str, where: str) -> Passage:
    start, end = number(plain, "start", where), number(plain, "end", where)
    if not 0 <= start <= end <= len(text):
        raise MalformedError("a passage lies outside the text", where)
    return Passage(start, end, string(plain, "kind", where), _notes(plain, where))


def _read_relation(plain: Plain, where: str) -> Relation:
    arguments = pairs_of(plain, "arguments", str, where)
    return Relation(string(plain, "type", where), arguments, string(plain, "id", where), _notes(plain, where))
