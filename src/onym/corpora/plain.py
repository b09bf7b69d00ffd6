"""Converts documents to and from plain values (dicts and lists), as stored in Onym's own JSONL and Parquet formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from onym import fields
from onym.corpora.base import Draft, Item, MalformedError
from onym.types import EVIDENCE, Candidate, Document, Link, LinkedDocument, Mention, Notes, Passage, Problem, Relation

Plain = dict[str, Any]
LINKED = "linked-document/2"
"""The value of `schema` in a linked document, described by the JSON Schema `linked-document-2`."""


def to_plain(document: Document) -> Plain:
    """Return a document as plain values (dicts and lists); empty fields are omitted.

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
    """Parse a document from plain values; yield its problems, then the document."""
    if not isinstance(plain, dict):
        raise MalformedError("a document is not a JSON object", where)
    document_id = identifier(plain, "id", where)
    try:
        if plain.get("text") is None:
            raise MalformedError("a document has no 'text'", where)
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


def to_plain_linked(linked: LinkedDocument) -> Plain:
    """Return a linked document as plain values: the document, with the linked concepts as its concept ids, and the links.

    >>> fever = Mention(0, 5, "fever")
    >>> linked = LinkedDocument(Document("1", "fever", (fever,)), (Link(fever, (Candidate("mesh:D005334", "fever", 1.0),)),))
    >>> to_plain_linked(linked)["links"]
    [{'candidates': [{'concept_id': 'mesh:D005334', 'name': 'fever', 'score': 1.0}]}]
    """
    plain = to_plain(with_answers(linked)) | {"schema": LINKED}
    more = {"links": [_link(link) for link in linked.links], "problems": [_problem(each) for each in linked.problems]}
    return plain | {key: value for key, value in more.items() if value}


def from_plain_linked(plain: Any, where: str) -> LinkedDocument:
    """Parse a linked document from plain values. It must have one link per mention, or no links at all."""
    items = list(from_plain(plain, where))
    document = items[-1]
    links = objects(plain, "links", where)
    if len(items) > 1 or not isinstance(document, Document) or len(links) not in (0, len(document.mentions)):
        raise MalformedError("the links do not match the document's mentions", where)
    problems = tuple(
        Problem(document.id, string(each, "code", where), string(each, "what", where), string(each, "where", where))
        for each in objects(plain, "problems", where)
    )
    found = zip(document.mentions, links, strict=False)
    return LinkedDocument(document, tuple(_read_link(mention, link, where) for mention, link in found), problems)


def with_answers(linked: LinkedDocument) -> Document:
    """Return the document with the concept ids of its mentions replaced by the linker's answers.

    >>> fever = Mention(0, 5, "fever", ("mesh:D000001",))
    >>> link = Link(fever, (Candidate("mesh:D005334", "fever", 1.0),))
    >>> with_answers(LinkedDocument(Document("1", "fever", (fever,)), (link,))).mentions[0].concept_ids
    ('mesh:D005334',)
    """
    answers = ((link.mention, (link.concept_id,) if link.concept_id else ()) for link in linked.links)
    mentions = tuple(replace(mention, concept_ids=ids) for mention, ids in answers)
    # if the document could not be linked, its mentions are dropped, and relations could refer to them
    relations = linked.document.relations if linked.is_complete else ()
    return replace(linked.document, mentions=mentions, relations=relations)


def string(plain: Plain, key: str, where: str) -> str:
    """Return the string at `key`, or "" if it is missing."""
    value = plain.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedError(f"{key!r} should be a string", where)
    return value


def identifier(plain: Plain, key: str, where: str) -> str:
    """Return the id at `key`, which may be a string or an integer.

    >>> identifier({"id": 10192393}, "id", "a.jsonl:1")
    '10192393'
    """
    value = plain.get(key)
    return str(value) if type(value) is int else string(plain, key, where)


def number(plain: Plain, key: str, where: str) -> int:
    """Return the integer at `key`."""
    value = plain.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedError(f"{key!r} should be an integer", where)
    return value


def objects(plain: Plain, key: str, where: str) -> list[Plain]:
    """Return the list of objects at `key`, or an empty list if it is missing."""
    value = plain.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(member, dict) for member in value):
        raise MalformedError(f"{key!r} should be a list of objects", where)
    return value


def strings(plain: Plain, key: str, where: str) -> tuple[str, ...]:
    """Return the list of strings at `key`, or an empty list if it is missing."""
    value = plain.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(member, str) for member in value):
        raise MalformedError(f"{key!r} should be a list of strings", where)
    return tuple(value)


def pairs_of(plain: Plain, key: str, of: type[str | int], where: str) -> tuple[tuple[Any, Any], ...]:
    """Return the list of pairs at `key`, or an empty list if it is missing."""
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
        raise MalformedError("a passage is outside the text", where)
    return Passage(start, end, string(plain, "kind", where), _notes(plain, where))


def _read_relation(plain: Plain, where: str) -> Relation:
    arguments = pairs_of(plain, "arguments", str, where)
    return Relation(string(plain, "type", where), arguments, string(plain, "id", where), _notes(plain, where))


def _link(link: Link) -> Plain:
    candidates = [{"concept_id": each.concept_id, "name": each.name, "score": each.score} for each in link.candidates]
    extra = {"extra": dict(link.extra)} if link.extra else {}
    return {"candidates": candidates, **fields.to_plain(link, EVIDENCE), **extra}


def _problem(problem: Problem) -> Plain:
    return {"code": problem.code, "what": problem.what} | ({"where": problem.where} if problem.where else {})


def _read_link(mention: Mention, plain: Plain, where: str) -> Link:
    candidates = tuple(
        Candidate(string(each, "concept_id", where), string(each, "name", where), _score(each, where))
        for each in objects(plain, "candidates", where)
    )
    try:
        return Link(mention, candidates, **fields.from_plain(plain, EVIDENCE), extra=fields.object_in(plain, "extra"))
    except ValueError as e:
        raise MalformedError(str(e), where) from e


def _score(plain: Plain, where: str) -> float:
    score = plain.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise MalformedError("the 'score' of a candidate is missing or not a number", where)
    return float(score)
