"""What a linker answered, as a file: JSON lines that hold ids, offsets and scores, but no text and no names. Format 2.

The first line says what the answers came from. Each other line is a mention, a document that could not be linked, or one
without mentions, which says that the document was read:

    {"document": "10192393", "start": 4, "end": 16, "answers": [["mesh:D009203", 0.98, 0], [["mesh:D1", "mesh:D2"], 0.5, 1]]}
    {"document": "10192394", "problem": {"code": "limit-record", "what": "a document is too long"}}
    {"document": "10192395", "mentions": 0}

A document that was read from a file also has `source` and `ordinal`: the file, and its number among the documents of the file.
They tell documents of one id apart.

An answer is an id (or, where several are meant together, a list of them), its score, and the number of the name that led to it:
answers with the same number share a name. Answers stand best first. Where `source.order` of the first line says that ties are
decided, this holds for equal scores too; else equal scores are a tie. A mention may also have `tied`, `detection_score`,
`stage`, `confidence`, `nil_reason` and `assertion`, as `onym.Link` has them; what is absent is not known.
`schemas/predictions-2.schema.json` is the JSON Schema of a line.
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
from typing import Any, BinaryIO, Literal

from onym import fields
from onym.corpora.problems import require_complete
from onym.errors import InputError
from onym.linkers.base import DECIDED
from onym.outputs.base import OutputContext
from onym.store.files.json import parse_line
from onym.store.files.lines import iter_blocks
from onym.store.files.source import InputFile
from onym.types import EVIDENCE, Candidate, Document, DocumentKey, Link, LinkedDocument, LinkEvidence, Problem

DocumentName = str | DocumentKey
"""A document's id, where no other document has it; else its id, the file it was read from, and its ordinal there."""


class DocumentNames:
    """The names of documents among one another.

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
        """Name documents that must differ: two with one id, file and ordinal are refused."""
        counts = Counter(doc.key for doc in documents)
        for key, count in counts.items():
            if count > 1:
                what = "documents have the same id, and neither file nor ordinal tells them apart"
                fix = "read them with read_corpus, or give them ids of their own"
                raise InputError("documents-alike", what, where=f"document {key[0]}", fix=fix)
        return cls(counts)

    def __contains__(self, document_id: str) -> bool:
        return document_id in self._keys

    def of(self, key: DocumentKey) -> DocumentName:
        """Return the name of a document of these, or of any other one."""
        return key[0] if len(self._keys.get(key[0], ())) < 2 else key

    def match(self, key: DocumentKey, others: DocumentNames) -> DocumentName:
        """Return the name, among these, of a document of `others`; one that could be several of these is refused.

        >>> gold = DocumentNames([("1", "test.jsonl", 1), ("2", "test.jsonl", 2)])
        >>> gold.match(("1", "mine.txt", 7), DocumentNames([("1", "mine.txt", 7)]))
        '1'
        """
        own = self._keys.get(key[0], set())
        if len(own) == 1 and len(others._keys[key[0]]) > 1:
            raise _ambiguous(key, "several documents of the predictions have this id, one of the gold documents has it")
        if len(own) > 1 and key not in own:
            raise _ambiguous(key, "several gold documents have this id, and the predictions do not say which one they mean")
        return self.of(key)


def _ambiguous(key: DocumentKey, what: str) -> InputError:
    where = f"document {key[0]}" + (f" ({key[1]}, {key[2]})" if key[2] else "")
    fix = "predict on the gold documents themselves, with their file and ordinal"
    return InputError("predictions-ambiguous", what, where=where, fix=fix)


KIND, FORMAT = "predictions", 2

Key = tuple[DocumentName, int, int]
"""A document (its id, where no other has it) and the mention's start and end in it."""
Answer = tuple[tuple[str, ...], float, int]
"""Ids that are meant together, the score, and the number of the name."""


@dataclass(frozen=True, slots=True)
class Prediction(LinkEvidence):
    """The answers to one mention, best first, and the evidence behind them, as `Link` has it."""

    document_id: str
    start: int
    end: int
    answers: tuple[Answer, ...]
    source: str = ""
    ordinal: int = 0

    @property
    def document_key(self) -> DocumentKey:
        """What tells the documents of mentions apart."""
        return self.document_id, self.source, self.ordinal


@dataclass(frozen=True, slots=True)
class NoMentions:
    """A document that was read, and in which there is no mention."""

    document_id: str
    source: str = ""
    ordinal: int = 0

    @property
    def document_key(self) -> DocumentKey:
        """What tells documents apart."""
        return self.document_id, self.source, self.ordinal


Line = Prediction | Problem | NoMentions


@dataclass(frozen=True)
class Predictions:
    """A file of predictions: what they came from, one for each mention, and the documents that could not be linked.

    `without_mentions` are the documents that were read and have no mention. `repeated` counts for each mention the lines after
    its first.
    """

    source: dict[str, Any]
    mentions: dict[Key, Prediction]
    problems: tuple[Problem, ...] = ()
    without_mentions: tuple[NoMentions, ...] = ()
    repeated: Counter[Key] = field(default_factory=Counter)

    @classmethod
    def of(cls, lines: Iterable[Line], source: dict[str, Any]) -> Predictions:
        """Gather predictions; where a mention stands twice, the first counts."""
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
        """What a file of them holds, without repeated lines."""
        yield from self.problems
        yield from self.mentions.values()
        yield from self.without_mentions

    @property
    def is_decided(self) -> bool:
        """True where the order of answers with equal scores means something: the first is the answer."""
        order = self.source.get("order")
        return isinstance(order, dict) and order.get("ties") == DECIDED

    @cached_property
    def document_keys(self) -> set[DocumentKey]:
        """The documents that were read."""
        return _document_keys(self.mentions.values(), self.without_mentions)

    @cached_property
    def names(self) -> DocumentNames:
        """Their names among one another."""
        return DocumentNames(self.document_keys)

    def keys_to(self, gold: DocumentNames) -> dict[Key, Key]:
        """Return each key of a mention with the one that it has by the names of gold documents.

        A document that could be several of them is refused.
        """
        return {key: (gold.match(one.document_key, self.names), one.start, one.end) for key, one in self.mentions.items()}

    def answers_to(self, gold: DocumentNames) -> dict[Key, tuple[Answer, ...]]:
        """Return the answers by the names of gold documents; a document that could be several of them is refused."""
        return {own: self.answers[key] for key, own in self.keys_to(gold).items()}

    @cached_property
    def answers(self) -> dict[Key, tuple[Answer, ...]]:
        """The answers by document, start and end; a mention that is left unlinked (NIL) has none."""
        return {key: () if one.nil_reason else one.answers for key, one in self.mentions.items()}

    def __iter__(self) -> Iterator[Prediction]:
        """Yield them one by one, in order."""
        return iter(self.mentions.values())


def _document_keys(mentions: Iterable[Prediction], without: Iterable[NoMentions]) -> set[DocumentKey]:
    return {one.document_key for one in mentions} | {one.document_key for one in without}


def predictions_of(linked: Iterable[LinkedDocument]) -> Iterator[Line]:
    """Yield what is kept of links; a document that could not be linked is an error."""
    return lines_of(require_complete(linked))


def lines_of(linked: Iterable[LinkedDocument]) -> Iterator[Line]:
    """Yield what is kept of links, the problems of documents that could not be linked, and the documents without mentions."""
    for each in linked:
        source, ordinal = each.document.source, each.document.ordinal
        yield from (replace(one, source=source, ordinal=ordinal) for one in each.problems)
        yield from (prediction_of(link, each.document) for link in each.links)
        if each.is_complete and not each.links:
            yield NoMentions(each.document.id, source, ordinal)


def prediction_of(link: Link, document: Document) -> Prediction:
    """Return what is kept of a link in a document."""
    known = {each.name: value for each in EVIDENCE if each.is_known(value := getattr(link, each.name))}
    if not link.candidates:
        known.pop("nil_reason", None)  # no answers say so themselves
    mention, answers = link.mention, _answers(link.candidates)
    return Prediction(document.id, mention.start, mention.end, answers, document.source, document.ordinal, **known)


ENDINGS = (".jsonl",)


def write(linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
    """Write what is kept of linked documents."""
    write_predictions(lines_of(linked), context.source, file)


def write_predictions(lines: Iterable[Line], source: Mapping[str, Any], file: BinaryIO) -> int:
    """Write predictions, and return how many lines there are after the first.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_predictions([Prediction("1", 0, 5, ((("mesh:D005334",), 1.0, 0),))], {"linker": "exact"}, file)
    1
    >>> file.getvalue().splitlines()[1]
    b'{"document":"1","start":0,"end":5,"answers":[["mesh:D005334",1.0,0]]}'
    """
    _write_line(file, {"kind": KIND, "format": FORMAT, "source": dict(source)})
    count = 0
    for count, one in enumerate(lines, 1):  # noqa: B007 - the last is the number of all
        _write_line(file, _plain(one))
    return count


def read_predictions(path: Path | str) -> Predictions:
    """Read predictions. Where a mention stands twice, its first line counts."""
    file = InputFile.from_path(Path(path))
    lines = _iter_values(file)
    first, where = next(lines, (None, file.name))
    if not isinstance(first, dict) or first.get("kind") != KIND:
        fix = "write the file with onym link, or name a corpus format with --from"
        raise InputError("predictions-malformed", "not a file of predictions", where=where, fix=fix)
    if first.get("format") != FORMAT:
        known = first.get("format")
        what = f"format {known if isinstance(known, int) else 'unknown'}, while this Onym reads format {FORMAT}"
        raise InputError("predictions-version", what, where=where, fix="write the file again with onym link")
    return Predictions.of((_line(value, at) for value, at in lines), _source(first.get("source"), where))


def are_predictions(path: Path | str) -> bool:
    """Return True if a file holds predictions, by its beginning."""
    return InputFile.from_path(Path(path)).head(64).replace(b" ", b"").startswith(b'{"kind":"predictions"')


def _answers(candidates: Sequence[Candidate]) -> tuple[Answer, ...]:
    """Return candidates as answers. Names of equal scores are numbered in the order of ids, however ties are decided."""
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
    return {"document": one.document_id, **_origin(one), **span, "answers": answers, **fields.to_plain(one, _EVIDENCE)}


def _origin(one: Line) -> dict[str, Any]:
    """Return the file and the ordinal of a document that was read from one."""
    return {"source": one.source, "ordinal": one.ordinal} if one.ordinal else {}


def _problem_plain(problem: Problem) -> dict[str, Any]:
    where = {"where": problem.where} if problem.where else {}
    plain = {"code": problem.code, "what": problem.what, **where}
    return {"document": problem.document_id, **_origin(problem), "problem": plain}


def _write_line(file: BinaryIO, value: object) -> None:
    file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n")


def _iter_values(file: InputFile) -> Iterator[tuple[Any, str]]:
    for block in iter_blocks(file):
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if line.strip():
                where = f"{file.name}:{number}"
                yield parse_line(line, where, file.limits), where


def _source(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _make_error(where)
    return value


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
            except ValueError as e:
                raise _make_error(where) from e
            return Prediction(document_id, start, end, found, *_read_origin(more, where), **known)
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
        "predictions-malformed", "a line is not a prediction", where=where, fix="write the file again with onym link"
    )


SchemaName = Literal["predictions-2", "linked-document-2", "problems-1"]


def schema(name: SchemaName) -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12).

    >>> schema("predictions-2")["title"]
    'A line of a file of predictions, format 2'
    """
    found: dict[str, Any] = json.loads((files("onym.outputs") / "schemas" / f"{name}.schema.json").read_bytes())
    return found
