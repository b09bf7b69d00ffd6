"""The predictions file, format 2: JSON lines with ids, offsets and scores, but no text and no names.

The first line (header) describes what produced the answers. Each other line is a mention, a document that could not be linked,
or a document without mentions:

    {"document": "10192393", "start": 4, "end": 16, "answers": [["mesh:D009203", 0.98, 0], [["mesh:D1", "mesh:D2"], 0.5, 1]]}
    {"document": "10192394", "problem": {"code": "limit-record", "what": "a document is too long"}}
    {"document": "10192395", "mentions": 0}

Documents read from a file also have `source` (the file) and `ordinal` (the number of the document in the file), which
distinguish documents with the same id.

An answer is an id (or a list of ids for a composite mention), its score, and the number of the matched name: answers with the
same number share a name. Answers are sorted best first. If `source.order` in the header says that ties are decided, the order
of answers with equal scores is meaningful; otherwise they are ties. A mention may also have `tied`, `detection_score`, `stage`,
`confidence`, `nil_reason`, `assertion` and `extra`, as in `onym.Link`; absent values are unknown. The JSON Schema of a line is
`schemas/predictions-2.schema.json`.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from onym import fields
from onym.corpora.problems import require_complete
from onym.errors import InputError
from onym.outputs.base import OutputContext
from onym.pipeline.pipeline import DECIDED
from onym.store.files.json import parse_line
from onym.store.files.lines import iter_blocks
from onym.store.files.source import InputFile
from onym.types import EVIDENCE, Candidate, Document, DocumentKey, Link, LinkedDocument, LinkEvidence, Problem

DocumentName = str | DocumentKey
"""Document id if it is unique, else (id, source file, ordinal)."""


class DocumentNames:
    """Unique names for a set of documents: the id if it is unique in the set, else the full key (id, file, ordinal).

    >>> names = DocumentNames([("1", "a.txt", 1), ("1", "a.txt", 2), ("2", "a.txt", 3)])
    >>> names.of(("2", "a.txt", 3)), names.of(("1", "a.txt", 2))
    ('2', ('1', 'a.txt', 2))
    """

    def __init__(self, keys: Iterable[DocumentKey]) -> None:
        self._keys: defaultdict[str, set[DocumentKey]] = defaultdict(set)
        for key in keys:
            self._keys[key[0]].add(key)

    @classmethod
    def of_documents(cls, documents: Iterable[Document]) -> DocumentNames:
        """Return names for documents; raise InputError if two documents have the same id, file and ordinal."""
        counts = Counter(doc.key for doc in documents)
        for key, count in counts.items():
            if count > 1:
                what = "several documents have the same id, file and ordinal"
                fix = "read them with read_corpus, or give them unique ids"
                raise InputError("documents-alike", what, where=f"document {key[0]}", fix=fix)
        return cls(counts)

    def __contains__(self, document_id: str) -> bool:
        return document_id in self._keys

    def of(self, key: DocumentKey) -> DocumentName:
        """Return the unique name of a document."""
        return key[0] if len(self._keys.get(key[0], ())) < 2 else key

    def match(self, key: DocumentKey, others: DocumentNames) -> DocumentName:
        """Find a document of `others` in this set, and return its name here; raise InputError if the match is ambiguous.

        >>> gold = DocumentNames([("1", "test.jsonl", 1), ("2", "test.jsonl", 2)])
        >>> gold.match(("1", "mine.txt", 7), DocumentNames([("1", "mine.txt", 7)]))
        '1'
        """
        own = self._keys.get(key[0], set())
        if len(own) == 1 and len(others._keys[key[0]]) > 1:
            raise _ambiguous(key, "several predicted documents have this id, but only one gold document has it")
        if len(own) > 1 and key not in own:
            raise _ambiguous(key, "several gold documents have this id, and the predictions do not say which one is meant")
        return self.of(key)


def _ambiguous(key: DocumentKey, what: str) -> InputError:
    where = f"document {key[0]}" + (f" ({key[1]}, {key[2]})" if key[2] else "")
    fix = "run onym link on the gold documents themselves, so that file and ordinal match"
    return InputError("predictions-ambiguous", what, where=where, fix=fix)


KIND, FORMAT = "predictions", 2

Key = tuple[DocumentName, int, int]
"""Document name, and start and end of the mention."""
Answer = tuple[tuple[str, ...], float, int]
"""Concept ids (several for a composite mention), score, and number of the matched name."""


@dataclass(frozen=True, slots=True)
class Prediction(LinkEvidence):
    """The answers for one mention, best first, with the evidence of `onym.Link`."""

    document_id: str
    start: int
    end: int
    answers: tuple[Answer, ...]
    source: str = ""
    ordinal: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def document_key(self) -> DocumentKey:
        """Key that identifies the document: id, source file and ordinal."""
        return self.document_id, self.source, self.ordinal


@dataclass(frozen=True, slots=True)
class NoMentions:
    """A document that was read and has no mentions."""

    document_id: str
    source: str = ""
    ordinal: int = 0

    @property
    def document_key(self) -> DocumentKey:
        """Key that identifies the document: id, source file and ordinal."""
        return self.document_id, self.source, self.ordinal


Line = Prediction | Problem | NoMentions


@dataclass(frozen=True)
class Predictions:
    """A predictions file: its source, one prediction per mention, and the documents that could not be linked.

    `without_mentions` lists documents without mentions. `repeated` counts the additional lines of repeated mentions.
    """

    source: dict[str, Any]
    mentions: dict[Key, Prediction]
    problems: tuple[Problem, ...] = ()
    without_mentions: tuple[NoMentions, ...] = ()
    repeated: Counter[Key] = field(default_factory=Counter)

    @classmethod
    def of(cls, lines: Iterable[Line], source: dict[str, Any]) -> Predictions:
        """Collect predictions. If several lines have the same mention, the first line is used."""
        found: list[Prediction] = []
        problems: list[Problem] = []
        without: list[NoMentions] = []
        for line in lines:
            if isinstance(line, Problem):
                problems.append(line)
            elif isinstance(line, NoMentions):
                without.append(line)
            else:
                found.append(line)
        names = DocumentNames(_document_keys(found, without))
        mentions: dict[Key, Prediction] = {}
        repeated: Counter[Key] = Counter()
        for one in found:
            key = names.of(one.document_key), one.start, one.end
            repeated[key] += key in mentions
            mentions.setdefault(key, one)
        return cls(source, mentions, tuple(problems), tuple(without), +repeated)

    @property
    def lines(self) -> Iterator[Line]:
        """All lines of the file except the header and repeated mentions."""
        yield from self.problems
        yield from self.mentions.values()
        yield from self.without_mentions

    @property
    def is_decided(self) -> bool:
        """True if ties are resolved: of answers with equal scores, the first is the prediction."""
        order = self.source.get("order")
        return isinstance(order, dict) and order.get("ties") == DECIDED

    @cached_property
    def document_keys(self) -> set[DocumentKey]:
        """Keys of all documents that were read."""
        return _document_keys(self.mentions.values(), self.without_mentions)

    @cached_property
    def names(self) -> DocumentNames:
        """Unique names of the documents."""
        return DocumentNames(self.document_keys)

    def keys_to(self, gold: DocumentNames) -> dict[Key, Key]:
        """Map the key of each mention to the key with the gold name of its document; raise InputError if that is ambiguous."""
        return {key: (gold.match(one.document_key, self.names), one.start, one.end) for key, one in self.mentions.items()}

    def answers_to(self, gold: DocumentNames) -> dict[Key, tuple[Answer, ...]]:
        """Return the answers, keyed with the gold names of the documents; raise InputError if a name is ambiguous."""
        return {own: self.answers[key] for key, own in self.keys_to(gold).items()}

    @cached_property
    def answers(self) -> dict[Key, tuple[Answer, ...]]:
        """The answers by document, start and end; empty for unlinked (NIL) mentions."""
        return {key: () if one.nil_reason else one.answers for key, one in self.mentions.items()}

    def __iter__(self) -> Iterator[Prediction]:
        """Yield the predictions in file order."""
        return iter(self.mentions.values())


def _document_keys(mentions: Iterable[Prediction], without: Iterable[NoMentions]) -> set[DocumentKey]:
    return {one.document_key for one in mentions} | {one.document_key for one in without}


def predictions_of(linked: Iterable[LinkedDocument]) -> Iterator[Line]:
    """Yield the lines for linked documents; raise an error if a document could not be linked."""
    return lines_of(require_complete(linked))


def lines_of(linked: Iterable[LinkedDocument]) -> Iterator[Line]:
    """Yield the lines for linked documents: problems, predictions, and documents without mentions."""
    for each in linked:
        source, ordinal = each.document.source, each.document.ordinal
        yield from (replace(one, source=source, ordinal=ordinal) for one in each.problems)
        yield from (prediction_of(link, each.document) for link in each.links)
        if each.is_complete and not each.links:
            yield NoMentions(each.document.id, source, ordinal)


def prediction_of(link: Link, document: Document) -> Prediction:
    """Convert a link to a prediction."""
    known = {each.name: value for each in EVIDENCE if each.is_known(value := getattr(link, each.name))}
    if not link.candidates and link.nil_reason == "no-candidate":
        known.pop("nil_reason")  # omitted, because an empty list of answers implies it
    mention, answers = link.mention, _answers(link.candidates)
    return Prediction(document.id, mention.start, mention.end, answers, document.source, document.ordinal, link.extra, **known)


ENDINGS = (".jsonl",)


def write(linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
    """Write linked documents as predictions."""
    write_predictions(lines_of(linked), context.source, file)


def write_predictions(lines: Iterable[Line], source: Mapping[str, Any], file: BinaryIO) -> int:
    """Write predictions, and return the number of lines after the header.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_predictions([Prediction("1", 0, 5, ((("mesh:D005334",), 1.0, 0),))], {"linker": "exact"}, file)
    1
    >>> file.getvalue().splitlines()[1]
    b'{"document":"1","start":0,"end":5,"answers":[["mesh:D005334",1.0,0]]}'
    """
    write_header(source, file)
    return write_prediction_lines(lines, file)


def write_header(source: Mapping[str, Any], file: BinaryIO) -> None:
    """Write the first line of a predictions file."""
    _write_line(file, {"kind": KIND, "format": FORMAT, "source": dict(source)})


def write_prediction_lines(lines: Iterable[Line], file: BinaryIO) -> int:
    """Write lines after the header, and return their number."""
    count = 0
    for count, one in enumerate(lines, 1):  # noqa: B007 - its last value is returned
        _write_line(file, _plain(one))
    return count


def read_predictions(path: Path | str) -> Predictions:
    """Read a predictions file. If several lines have the same mention, the first line is used."""
    header, lines = open_predictions(InputFile.from_path(Path(path)))
    return Predictions.of((each.line for each in lines), header["source"])


class RawLine(NamedTuple):
    """A line of a predictions file as bytes, as JSON values and as `Line`."""

    data: bytes
    plain: dict[str, Any]
    line: Line


def open_predictions(file: InputFile) -> tuple[dict[str, Any], Iterator[RawLine]]:
    """Return the header of a predictions file, and an iterator over its lines."""
    lines = _iter_values(file)
    _, first, where = next(lines, (b"", None, file.name))
    if not isinstance(first, dict) or first.get("kind") != KIND:
        fix = "write the file with onym link, or give its corpus format with --from"
        raise InputError("predictions-malformed", "not a predictions file", where=where, fix=fix)
    if first.get("format") != FORMAT:
        known = first.get("format")
        what = f"the predictions have format {known if isinstance(known, int) else 'unknown'}, but this Onym reads {FORMAT}"
        raise InputError("predictions-version", what, where=where, fix="write the file again with onym link")
    if not isinstance(first.get("source"), dict):
        raise _make_error(where)
    return first, (RawLine(data, value, _line(value, at)) for data, value, at in lines)


def are_predictions(path: Path | str) -> bool:
    """Return True if a file starts like a predictions file."""
    return InputFile.from_path(Path(path)).head(64).replace(b" ", b"").startswith(b'{"kind":"predictions"')


def _answers(candidates: Sequence[Candidate]) -> tuple[Answer, ...]:
    """Convert candidates to answers. Names are numbered by score, then concept id, so tie-breaking has no effect on them."""
    by_id = sorted(candidates, key=lambda each: (-each.score, each.concept_id))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(each.name for each in by_id))}
    return tuple(((each.concept_id,), each.score, numbers[each.name]) for each in candidates)


_EVIDENCE = fields.plain_fields(Prediction, [each.name for each in EVIDENCE])


def _plain(line: Line) -> dict[str, Any]:
    if isinstance(line, Problem):
        return _problem_plain(line)
    if isinstance(line, NoMentions):
        return {"document": line.document_id, **_origin(line), "mentions": 0}
    return _prediction_plain(line)


def _prediction_plain(one: Prediction) -> dict[str, Any]:
    answers = [[ids[0] if len(ids) == 1 else list(ids), score, name] for ids, score, name in one.answers]
    span = {"start": one.start, "end": one.end}
    more = fields.to_plain(one, _EVIDENCE) | ({"extra": dict(one.extra)} if one.extra else {})
    return {"document": one.document_id, **_origin(one), **span, "answers": answers, **more}


def _origin(one: Line) -> dict[str, Any]:
    """Return file and ordinal of a document; an empty dict if the document was not read from a file."""
    return {"source": one.source, "ordinal": one.ordinal} if one.ordinal else {}


def _problem_plain(problem: Problem) -> dict[str, Any]:
    where = {"where": problem.where} if problem.where else {}
    plain = {"code": problem.code, "what": problem.what, **where}
    return {"document": problem.document_id, **_origin(problem), "problem": plain}


def _write_line(file: BinaryIO, value: object) -> None:
    file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n")


def _iter_values(file: InputFile) -> Iterator[tuple[bytes, Any, str]]:
    for block in iter_blocks(file):
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if line.strip():
                where = f"{file.name}:{number}"
                yield line, parse_line(line, where, file.limits), where


def _line(value: object, where: str) -> Line:
    match value:
        case {"document": str(document_id), "mentions": int(number), **origin} if number is not False and not number:
            if origin.keys() - {"source", "ordinal"}:
                raise _make_error(where)
            return NoMentions(document_id, *_read_origin(origin, where))
        case {"document": str(document_id), "problem": {"code": str(code), "what": str(what), **more}, **origin}:
            return Problem(document_id, code, what, str(more.get("where", "")), *_read_origin(origin, where))
        case {"document": str(document_id), "start": int(start), "end": int(end), "answers": list(answers), **more}:
            found = tuple(_answer(answer, where) for answer in answers)
            try:
                known = fields.from_plain(more, _EVIDENCE)
                extra = fields.object_in(more, "extra")
            except ValueError as e:
                raise _make_error(where) from e
            return Prediction(document_id, start, end, found, *_read_origin(more, where), extra, **known)
    raise _make_error(where)


def _read_origin(more: Mapping[Any, Any], where: str) -> tuple[str, int]:
    match more.get("source", ""), more.get("ordinal", 0):
        case str(source), int(ordinal) if ordinal >= 0 and not isinstance(ordinal, bool):
            return source, ordinal
    raise _make_error(where)


def _answer(value: object, where: str) -> Answer:
    match value:
        case [ids, int() | float() as score, int(name)] if math.isfinite(score):
            return _ids(ids, where), float(score), name
    raise _make_error(where)


def _ids(value: object, where: str) -> tuple[str, ...]:
    match value:
        case str(concept_id):
            return (concept_id,)
        case [str(), *_] if all(isinstance(concept_id, str) for concept_id in value):
            return tuple(map(str, value))
    raise _make_error(where)


def _make_error(where: str) -> InputError:
    return InputError(
        "predictions-malformed", "this line is not a valid prediction", where=where, fix="write the file again with onym link"
    )


SchemaName = Literal["predictions-2", "linked-document-2", "problems-1"]


def schema(name: SchemaName) -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12).

    >>> schema("predictions-2")["title"]
    'A line of a file of predictions, format 2'
    """
    found: dict[str, Any] = json.loads((files("onym.outputs") / "schemas" / f"{name}.schema.json").read_bytes())
    return found
