"""A review desk: links, their documents and the decisions of reviewers, in one SQLite file.

A desk is written once from links (`onym.review.create`); afterwards only decisions are inserted. Nothing is updated: an undo is
a row of its own. `onym review purge` alone deletes rows.

    desk        key, value           facts as JSON, see `DeskFacts`: the id of the desk, digests of pipeline and knowledge base
    document    number               1, 2, 3 ...
                id, source, ordinal  the key of the document, as in `onym.Document`
                digest               SHA-256 of its text in UTF-8; empty if the text was not available
                length               code points of its text; 0 if the text was not available
                text                 the whole text; null with --context and --no-text, and after a purge
                detail               what the reviewer sees besides, such as the other cells of a table's row; may be null
    cluster     number               links with the same surface, expansion and answer: what "everywhere" covers
                surface              the form by which corrections find it (`onym.corrections.surface_key`)
                expansion            normal form of the long form, if the document defines the surface as an abbreviation
                concept_id           the answer; null if the mention is unlinked (NIL)
    link        number, document, cluster
                start, end           code points of the document's text
                surface, type        as in `onym.Mention`
                concept_id           the answer, as a CURIE (`mesh:D003924`); null if the mention is unlinked (NIL)
                nil_reason, confidence, stage      as in `onym.Link`
                candidates           JSON: [concept id, matched name, preferred name, type, score] of each, best first
                before, after        the text around the mention, with --context; else null
                is_queued            1 if it is to be reviewed, 0 if it was not asked for
    decision    number               order of insertion
                id                   unique, made by the client: a decision that is sent again counts once
                reviewer, time, seconds            who decided, when (UTC, ISO 8601), and how many seconds that took
                verdict, scope       see `onym.review.decisions`
                link, document, cluster            what it covers; link is null for a missed mention and an undo
                start, end           other bounds, or those of a missed mention
                concept_id           the concept that it names
                kb                   digest of the knowledge base at that time
                undoes               id of the decision that it undoes

A desk may come from somebody else: `onym.store.sqlite` rejects a file with any other table, view or trigger, and values are
checked when they are read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import Field, ValidationError

from onym.config import Strict
from onym.errors import InputError, IntegrityError, OnymError
from onym.review.decisions import Decision
from onym.store.limits import MIB
from onym.store.sqlite import Database, DatabaseFormat, open_database
from onym.types import Candidate

_SCHEMA = (
    "CREATE TABLE desk (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    (
        "CREATE TABLE document (number INTEGER PRIMARY KEY, id TEXT NOT NULL, source TEXT NOT NULL, ordinal INTEGER NOT NULL, "
        "digest TEXT NOT NULL, length INTEGER NOT NULL, text TEXT, detail TEXT) STRICT"
    ),
    "CREATE TABLE cluster (number INTEGER PRIMARY KEY, surface TEXT NOT NULL, expansion TEXT NOT NULL, concept_id TEXT) STRICT",
    (
        "CREATE TABLE link (number INTEGER PRIMARY KEY, document INTEGER NOT NULL, cluster INTEGER NOT NULL, "
        "start INTEGER NOT NULL, end INTEGER NOT NULL, surface TEXT NOT NULL, type TEXT NOT NULL, concept_id TEXT, "
        "nil_reason TEXT, confidence REAL, stage TEXT, candidates TEXT NOT NULL, before TEXT, after TEXT, "
        "is_queued INTEGER NOT NULL) STRICT"
    ),
    (
        "CREATE TABLE decision (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, reviewer TEXT NOT NULL, "
        "time TEXT NOT NULL, seconds REAL NOT NULL, verdict TEXT NOT NULL, scope TEXT NOT NULL, link INTEGER, "
        "document INTEGER, cluster INTEGER, start INTEGER, end INTEGER, concept_id TEXT, kb TEXT NOT NULL, undoes TEXT) STRICT"
    ),
    "CREATE INDEX link_of_document ON link (document, start)",
    "CREATE INDEX link_of_cluster ON link (cluster)",
)
FORMAT = DatabaseFormat(
    noun="review desk",
    application_id=0x4F6E796D,  # "Onym"
    version=1,
    schema=_SCHEMA,
    fix="make one with onym review create",
)
_FACTS = "facts"
_MAX_CANDIDATES = 1_000
_MAX_JSON = 4 * MIB  # characters of a value or of the candidates of a link; parsed, they take up to 20 times as many bytes
_DANGLING = (  # queries that return 0 if the rows of a desk refer to existing rows
    "SELECT EXISTS (SELECT 1 FROM link WHERE document NOT IN (SELECT number FROM document))",
    "SELECT EXISTS (SELECT 1 FROM link WHERE cluster NOT IN (SELECT number FROM cluster))",
    "SELECT EXISTS (SELECT 1 FROM decision WHERE document IS NOT NULL AND document NOT IN (SELECT number FROM document))",
    "SELECT EXISTS (SELECT 1 FROM decision WHERE verdict = 'missed' AND document IS NULL)",
)


class DeskFacts(Strict):
    """The facts about a desk. `case_sensitive_below` is the limit of `surface_key`; `missing` has ids of texts not found.

    `source` is the header of the predictions: everything that the links depend on. `kb` is the digest of the knowledge base.
    With `are_terms`, each document is a term of a table. In a desk of disagreements, `settled_after` is the number of decisions
    that it was made with: later ones settle them.
    """

    id: str = Field(min_length=8, max_length=64)
    onym: str
    created: str
    kb: str
    source: dict[str, Any] = Field(default_factory=dict)
    context: int | None = Field(default=None, ge=0)
    has_text: bool = True
    case_sensitive_below: int = Field(default=4, ge=0)
    missing: tuple[str, ...] = ()
    title: str = ""
    are_terms: bool = False
    settled_after: int = Field(default=0, ge=0)


@dataclass(frozen=True, slots=True)
class DeskDocument:
    """A document of a desk; `text` is None if the desk does not store it."""

    number: int
    id: str
    source: str = ""
    ordinal: int = 0
    digest: str = ""
    length: int = 0
    text: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class DeskCluster:
    """The key that links of a cluster share."""

    number: int
    surface: str
    expansion: str
    concept_id: str | None


@dataclass(frozen=True, slots=True)
class DeskLink:
    """A link of a desk, with the numbers of its document and of its cluster."""

    number: int
    document: int
    cluster: int
    start: int
    end: int
    surface: str
    type: str = ""
    concept_id: str | None = None
    nil_reason: str | None = None
    confidence: float | None = None
    stage: str | None = None
    candidates: tuple[Candidate, ...] = ()
    before: str | None = None
    after: str | None = None
    is_queued: bool = True

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of its row."""
        row = [getattr(self, each.name) for each in fields(self)]
        row[_CANDIDATES] = write_candidates(self.candidates)
        row[-1] = int(self.is_queued)
        return tuple(row)


_CANDIDATES = [each.name for each in fields(DeskLink)].index("candidates")
_LINK = ", ".join(f'"{each.name}"' for each in fields(DeskLink))
_DOCUMENT = ", ".join(each.name for each in fields(DeskDocument))
_DECISION_FIELDS = [each.name for each in fields(Decision) if each.name != "number"]
_DECISION = ", ".join(f'"{name}"' for name in [*_DECISION_FIELDS, "number"])


def open_desk(path: Path | str, *, exclusive: bool = False) -> Desk:
    """Open a desk. With `exclusive`, no other process may hold it: a desk has one server."""
    database = open_database(Path(path), FORMAT, exclusive=exclusive)
    try:
        return Desk(database, Path(path))
    except BaseException:
        database.close()
        raise


class Desk:
    """An open desk. Its methods may be called by several threads.

    A decision is stored when `decide` returns: it survives a killed process and a power failure.
    """

    def __init__(self, database: Database, path: Path) -> None:
        self._database, self.path = database, path
        self.facts = self._read_facts()
        for query in _DANGLING:
            if database.rows(query) != [(0,)]:
                raise _make_error("rows refer to rows that are missing")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release its lock."""
        self._database.close()

    def value(self, key: str) -> str | None:
        """Return a value that the desk was made with, such as the plan of an audit; None if it has none."""
        rows = self._database.rows("SELECT value FROM desk WHERE key = ?", (key,))
        if rows and len(rows[0][0]) > _MAX_JSON:
            raise _make_error("one of its values is too long")
        return str(rows[0][0]) if rows else None

    def documents(self) -> Iterator[DeskDocument]:
        """Yield all documents, in order."""
        for row in self._database.iter_rows(f"SELECT {_DOCUMENT} FROM document ORDER BY number"):  # noqa: S608 - our names
            yield DeskDocument(*row)

    def document(self, number: int) -> DeskDocument:
        """Return a document; raise InputError if there is none with this number."""
        rows = self._database.rows(f"SELECT {_DOCUMENT} FROM document WHERE number = ?", (number,))  # noqa: S608
        return DeskDocument(*_one(rows, "document", number))

    def clusters(self) -> list[DeskCluster]:
        """Return all clusters, in order."""
        rows = self._database.rows("SELECT number, surface, expansion, concept_id FROM cluster ORDER BY number")
        return [DeskCluster(*row) for row in rows]

    def links(self, *, queued: bool = False) -> Iterator[DeskLink]:
        """Yield all links, in order; with `queued`, only those to be reviewed."""
        where = "WHERE is_queued = 1" if queued else ""
        for row in self._database.iter_rows(f"SELECT {_LINK} FROM link {where} ORDER BY number"):  # noqa: S608
            yield _link(row)

    def link(self, number: int) -> DeskLink:
        """Return a link; raise InputError if there is none with this number."""
        rows = self._database.rows(f"SELECT {_LINK} FROM link WHERE number = ?", (number,))  # noqa: S608
        return _link(_one(rows, "link", number))

    def links_of(self, document: int) -> list[DeskLink]:
        """Return the links of a document, in order of offsets."""
        query = f"SELECT {_LINK} FROM link WHERE document = ? ORDER BY start, end"  # noqa: S608
        return [_link(row) for row in self._database.rows(query, (document,))]

    def decisions(self, *, after: int = 0) -> Iterator[Decision]:
        """Yield the decisions with a number above `after`, in order."""
        for row in self._database.iter_rows(f"SELECT {_DECISION} FROM decision WHERE number > ? ORDER BY number", (after,)):  # noqa: S608
            yield _decision(row)

    def decide(self, decision: Decision) -> Decision:
        """Store a decision, and return it as stored. If the desk has a decision with this id already, return that one.

        Link, document and cluster are completed from the desk, and the bounds are checked. Raise InputError if the decision
        does not fit the desk, or if its id is that of another decision.
        """
        made = self._complete(decision)
        values = [getattr(made, name) for name in _DECISION_FIELDS]
        marks = ", ".join("?" * len(values))
        names = ", ".join(f'"{name}"' for name in _DECISION_FIELDS)
        is_new = self._database.insert(f"INSERT INTO decision ({names}) VALUES ({marks})", values)  # noqa: S608
        return self.decision(made.id) if is_new else self._require_same(made)

    def decision(self, decision_id: str) -> Decision:
        """Return a decision by its id; raise InputError if there is none."""
        rows = self._database.rows(f'SELECT {_DECISION} FROM decision WHERE "id" = ?', (decision_id,))  # noqa: S608
        return _decision(_one(rows, "decision", decision_id[:64]))

    def _require_same(self, made: Decision) -> Decision:
        old = self.decision(made.id)
        said = [name for name in _DECISION_FIELDS if name not in ("time", "seconds", "kb")]
        if any(getattr(old, name) != getattr(made, name) for name in said):
            what = "another decision has this id"
            raise InputError("review-decision", what, where=f"decision {made.id}", fix="make a new id for each decision")
        return old

    def _complete(self, decision: Decision) -> Decision:
        """Return a decision with the numbers of its link, document and cluster."""
        if decision.undoes is not None:
            undone = self.decision(decision.undoes)
            if undone.verdict == "undo" or undone.reviewer != decision.reviewer:
                what = "an undo cannot be undone, and only your own decisions can"
                raise InputError("review-decision", what, where=f"decision {decision.id}", fix="decide the link again")
            return replace(decision, link=None, document=undone.document, cluster=undone.cluster, scope=undone.scope)
        if decision.verdict == "missed":
            self._require_bounds(decision, self.document(decision.document or 0))
            return replace(decision, link=None, cluster=None)
        link = self.link(decision.link or 0)
        if decision.verdict == "span":
            self._require_bounds(decision, self.document(link.document))
        if decision.verdict == "right" and decision.concept_id != link.concept_id:
            what = "the link has another concept than the one that was found right"
            raise InputError("review-decision", what, where=f"decision {decision.id}", fix="load the page again")
        return replace(decision, document=link.document, cluster=link.cluster)

    def _require_bounds(self, decision: Decision, document: DeskDocument) -> None:
        if decision.end is None or (document.length and decision.end > document.length):
            what = "the bounds are outside the document"
            raise InputError("review-decision", what, where=f"decision {decision.id}", fix="select text of the document")

    def purge(self, document_ids: Sequence[str] = ()) -> int:
        """Erase documents from the file, and return their number. The desk must be open exclusively.

        With ids, everything about these documents: text, links, and the decisions on their links alone. Decisions on other
        documents remain, and clusters that other documents share. Without ids, the texts of all documents and the context of
        their links; surfaces and decisions remain, so that corrections can still be exported.
        """
        self._database.empty_log()  # also finishes a purge that another reader held up
        if document_ids:
            numbers = [number for each in dict.fromkeys(document_ids) for number in self._numbers_of(each)]
            with self._database.transaction():
                for number in numbers:
                    self._erase(number)
                self._database.run("DELETE FROM cluster WHERE number NOT IN (SELECT cluster FROM link)")
        else:
            with self._database.transaction():
                numbers = [number for (number,) in self._database.rows("SELECT number FROM document WHERE text IS NOT NULL")]
                self._database.run("UPDATE document SET text = NULL, detail = NULL")
                self._database.run('UPDATE link SET "before" = NULL, "after" = NULL')
        self._database.erase_free_space()
        return len(numbers)

    def _numbers_of(self, document_id: str) -> list[int]:
        rows = self._database.rows("SELECT number FROM document WHERE id = ?", (document_id,))
        if not rows:
            raise InputError("review-missing", "the desk has no such document", fix="onym review show lists the documents")
        return [number for (number,) in rows]

    def _erase(self, number: int) -> None:
        """Delete a document, its links, the decisions on it, and the undos of these."""
        own = "SELECT id FROM decision WHERE document = ? AND scope <> 'everywhere'"
        self._database.run(f"DELETE FROM decision WHERE undoes IN ({own}) OR id IN ({own})", (number, number))  # noqa: S608
        self._database.run("UPDATE decision SET link = NULL, document = NULL WHERE document = ?", (number,))
        self._database.run("DELETE FROM link WHERE document = ?", (number,))
        self._database.run("DELETE FROM document WHERE number = ?", (number,))

    def _read_facts(self) -> DeskFacts:
        try:
            return DeskFacts.model_validate_json(self.value(_FACTS) or "")
        except ValidationError as e:
            raise _make_error("its facts are missing or invalid") from e


def write_value(database: Database, key: str, value: str) -> None:
    """Insert a value of a new desk, such as the plan of an audit."""
    database.run("INSERT INTO desk (key, value) VALUES (?, ?)", (key, value))


def write_facts(database: Database, facts: DeskFacts) -> None:
    """Insert the facts about a new desk."""
    write_value(database, _FACTS, facts.model_dump_json())


def write_documents(database: Database, documents: Iterable[DeskDocument]) -> None:
    """Insert documents into a new desk."""
    rows = ([getattr(each, one.name) for one in fields(DeskDocument)] for each in documents)
    database.run_many(f"INSERT INTO document ({_DOCUMENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608


def write_clusters(database: Database, clusters: Iterable[DeskCluster]) -> None:
    """Insert clusters into a new desk."""
    rows = ((each.number, each.surface, each.expansion, each.concept_id) for each in clusters)
    database.run_many("INSERT INTO cluster (number, surface, expansion, concept_id) VALUES (?, ?, ?, ?)", rows)


def write_links(database: Database, links: Iterable[DeskLink]) -> None:
    """Insert links into a new desk."""
    marks = ", ".join("?" * len(fields(DeskLink)))
    database.run_many(f"INSERT INTO link ({_LINK}) VALUES ({marks})", (each.values for each in links))  # noqa: S608


def write_decisions(database: Database, decisions: Iterable[Decision]) -> None:
    """Insert decisions into a new desk, with their numbers."""
    names = [*_DECISION_FIELDS, "number"]
    rows = ([getattr(each, name) for name in names] for each in decisions)
    database.run_many(f"INSERT INTO decision ({_DECISION}) VALUES ({', '.join('?' * len(names))})", rows)  # noqa: S608


def digest_text(text: str) -> str:
    """Return the digest of a document's text.

    >>> digest_text("fever")[:8]
    '1e44a1c4'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write_candidates(candidates: Sequence[Candidate]) -> str:
    """Return candidates as JSON."""
    rows = [[each.concept_id, each.name, each.preferred_name, each.type, each.score] for each in candidates]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def read_candidates(text: str) -> tuple[Candidate, ...]:
    """Parse candidates; raise IntegrityError if they are malformed.

    >>> read_candidates('[["mesh:D005334","fever","Fever","Disease",0.5]]')[0].preferred_name
    'Fever'
    """
    if len(text) > _MAX_JSON:
        raise _make_error("candidates of a link are malformed")
    try:
        rows = json.loads(text)
        found = [(one, name, preferred, kind, float(score)) for one, name, preferred, kind, score in rows]
    except (ValueError, TypeError, RecursionError) as e:
        raise _make_error("candidates of a link are malformed") from e
    are_texts = all(isinstance(part, str) for row in found for part in row[:4])
    if len(found) > _MAX_CANDIDATES or not are_texts or not all(math.isfinite(row[4]) for row in found):
        raise _make_error("candidates of a link are malformed")
    return tuple(Candidate(one, name, score, preferred, kind) for one, name, preferred, kind, score in found)


def _link(row: Sequence[Any]) -> DeskLink:
    values = list(row)
    values[_CANDIDATES] = read_candidates(values[_CANDIDATES])
    values[-1] = bool(values[-1])
    link = DeskLink(*values)
    is_span = 0 <= link.start < link.end and len(link.surface) == link.end - link.start
    ids = [link.concept_id or "x:", *(each.concept_id for each in link.candidates)]
    if not is_span or not 0 <= (link.confidence or 0) <= 1 or not all(":" in concept_id for concept_id in ids):
        raise _make_error("a link is malformed")
    return link


def _decision(row: Sequence[Any]) -> Decision:
    try:
        return Decision(**dict(zip([*_DECISION_FIELDS, "number"], row, strict=True)))
    except OnymError as e:
        raise _make_error("a decision is malformed") from e


def _one(rows: Sequence[Any], what: str, key: object) -> Any:
    if not rows:
        raise InputError("review-missing", f"the desk has no {what} {key}", fix="load the page again")
    return rows[0]


def _make_error(what: str) -> IntegrityError:
    return IntegrityError("database-malformed", what, fix=FORMAT.fix)
