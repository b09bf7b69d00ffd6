"""Creates desks: from linked documents, from predictions with their documents, or from tables."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onym._version import __version__
from onym.corrections.rules import CASE_SENSITIVE_BELOW, surface_key
from onym.errors import ConfigError, InputError, format_id
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptFilter, ConceptMask, select_concepts
from onym.outputs.mapping import read_terms
from onym.outputs.predictions import Prediction, Predictions
from onym.outputs.rows import code_table_errors
from onym.outputs.sssom import read_sssom
from onym.outputs.table import TERM_COLUMNS, read_flat
from onym.review.desk import (
    FORMAT,
    DeskCluster,
    DeskDocument,
    DeskFacts,
    DeskLink,
    digest_text,
    write_clusters,
    write_documents,
    write_facts,
    write_links,
    write_value,
)
from onym.store.files.xlsx import cell_text
from onym.store.sqlite import Database, new_database
from onym.text.abbreviations import Abbreviations
from onym.text.normal import normal_name
from onym.types import EVIDENCE, Candidate, Document, DocumentKey, Link, LinkedDocument, Mention, Progress, silent

_BATCH = 1_000  # documents
_SHOWN_CANDIDATE = re.compile(r"(\S+:\S+) (.*?) \((-?\d+(?:\.\d+)?)\)(?:; |$)")
_MAX_MISSING = 1_000


@dataclass(frozen=True, slots=True)
class ReviewedDocument:
    """A document with links to be reviewed. `text` is None if it is not available; `detail` is shown beside it.

    `queued` has the positions of the links that are queued, counted from 0; None leaves that to the filter of the desk.
    """

    id: str
    text: str | None
    links: tuple[Link, ...] = ()
    source: str = ""
    ordinal: int = 0
    detail: str | None = None
    queued: frozenset[int] | None = None

    @classmethod
    def of(cls, linked: LinkedDocument) -> ReviewedDocument:
        """Return a linked document with its links."""
        document = linked.document
        return cls(document.id, document.text, linked.links, document.source, document.ordinal)


@dataclass(frozen=True)
class QueueFilter:
    """Says which links are queued for review: their concepts, a range of confidence, and documents. Empty means all.

    A link that is left unlinked (NIL) is queued if one of its candidates is a concept of the filter.
    """

    concepts: ConceptMask | None = None
    at_least: float | None = None
    below: float | None = None
    documents: frozenset[str] = frozenset()

    @classmethod
    def of(cls, kb: KnowledgeBase, wanted: ConceptFilter, **more: Any) -> QueueFilter:
        """Return a filter of concepts; `more` are the other fields."""
        return cls(select_concepts(kb, wanted), **more)

    def keeps(self, link: Link, document_id: str, kb: KnowledgeBase) -> bool:
        """Return whether a link is queued."""
        if self.documents and document_id not in self.documents:
            return False
        if self.at_least is not None and (link.confidence is None or link.confidence < self.at_least):
            return False
        if self.below is not None and (link.confidence is None or link.confidence >= self.below):
            return False
        if self.concepts is None:
            return True
        candidates = link.candidates if link.nil_reason else link.candidates[:1]
        return any(row >= 0 and self.concepts[row] for row in (kb.concept_ids.find(each.concept_id) for each in candidates))


@dataclass(frozen=True)
class DeskOptions:
    """What a desk stores: by default whole documents; with `context`, so many characters around each mention.

    Without `text`, only the surfaces of mentions are stored. With `are_terms`, each document is a term of a table.
    """

    context: int | None = None
    text: bool = True
    title: str = ""
    are_terms: bool = False
    queue: QueueFilter = field(default_factory=QueueFilter)
    case_sensitive_below: int = CASE_SENSITIVE_BELOW


@dataclass(frozen=True, slots=True)
class DeskCounts:
    """Counts of a new desk. `missing` counts documents whose text was not available."""

    documents: int
    links: int
    queued: int
    clusters: int
    missing: int


def create_desk(
    path: Path,
    documents: Iterable[ReviewedDocument],
    kb: KnowledgeBase,
    source: Mapping[str, Any],
    options: DeskOptions | None = None,
    *,
    missing: Sequence[str] = (),
    values: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> DeskCounts:
    """Write a new desk atomically, and return its counts. `missing` may still grow while `documents` is consumed.

    `values` are stored beside the facts, see `Desk.value`.
    """
    options = options or DeskOptions()
    if options.context is not None and not options.text:
        raise ConfigError("config-invalid", "--context and --no-text cannot be combined", fix="drop one of them")
    with new_database(path, FORMAT) as database:
        filling = _Filling(database, kb, options)
        for number, each in enumerate(documents, 1):
            filling.add(number, each)
            progress("documents", number)
        filling.flush()
        write_clusters(database, filling.clusters.values())
        write_facts(database, _facts(kb, source, options, [*missing, *filling.missing]))
        for key, value in (values or {}).items():
            write_value(database, key, value)
    lost = len(missing) + len(filling.missing)
    return DeskCounts(filling.documents, filling.links, filling.queued, len(filling.clusters), lost)


def _facts(kb: KnowledgeBase, source: Mapping[str, Any], options: DeskOptions, missing: Sequence[str]) -> DeskFacts:
    return DeskFacts(
        id=uuid.uuid4().hex,
        onym=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        kb=kb.digest,
        source=dict(source),
        context=options.context,
        has_text=options.text,
        case_sensitive_below=options.case_sensitive_below,
        missing=tuple(map(format_id, missing[:_MAX_MISSING])),
        title=options.title,
        are_terms=options.are_terms,
    )


class _Filling:
    """The rows of a desk that is being written, and the counts."""

    def __init__(self, database: Database, kb: KnowledgeBase, options: DeskOptions) -> None:
        self._database, self._kb, self._options = database, kb, options
        self.clusters: dict[tuple[str, str, str | None], DeskCluster] = {}
        self.missing: list[str] = []
        self.documents = self.links = self.queued = 0
        self._waiting: tuple[list[DeskDocument], list[DeskLink]] = [], []

    def add(self, number: int, each: ReviewedDocument) -> None:
        """Add a document and its links."""
        self.documents = number
        if each.text is None:
            self.missing.append(each.id)
        is_whole = self._options.text and self._options.context is None
        text = each.text or ""
        digest = "" if each.text is None else digest_text(text)
        stored = each.text if is_whole else None
        detail = each.detail if self._options.text else None
        self._waiting[0].append(DeskDocument(number, each.id, each.source, each.ordinal, digest, len(text), stored, detail))
        known = Abbreviations.from_text(text)
        self._waiting[1].extend(self._link(number, each, at, known) for at in range(len(each.links)))
        if number % _BATCH == 0:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are waiting."""
        documents, links = self._waiting
        write_documents(self._database, documents)
        write_links(self._database, links)
        self._waiting = [], []

    def _link(self, document: int, each: ReviewedDocument, at: int, known: Abbreviations) -> DeskLink:
        link, options = each.links[at], self._options
        mention = link.mention
        long = known.expand(mention.surface)
        key = surface_key(mention.surface, options.case_sensitive_below), normal_name(long) if long else "", link.concept_id
        cluster = self.clusters.setdefault(key, DeskCluster(len(self.clusters) + 1, *key))
        is_queued = options.queue.keeps(link, each.id, self._kb) if each.queued is None else at in each.queued
        self.links, self.queued = self.links + 1, self.queued + is_queued
        before, after = _context(each.text, mention, options.context)
        return DeskLink(
            number=self.links,
            document=document,
            cluster=cluster.number,
            start=mention.start,
            end=mention.end,
            surface=mention.surface,
            type=link.type,
            concept_id=link.concept_id,
            nil_reason=link.nil_reason,
            confidence=link.confidence,
            stage=link.stage,
            candidates=link.candidates,
            before=before,
            after=after,
            is_queued=is_queued,
        )


def _context(text: str | None, mention: Mention, size: int | None) -> tuple[str | None, str | None]:
    if text is None or size is None:
        return None, None
    return text[max(0, mention.start - size) : mention.start], text[mention.end : mention.end + size]


def join_predictions(
    predictions: Predictions, documents: Iterable[Document], kb: KnowledgeBase, missing: list[str]
) -> Iterator[ReviewedDocument]:
    """Yield documents with their predicted links, and append the ids of predicted documents that were not found to `missing`.

    Documents are found by id, and where ids repeat by file and number too. Raise InputError if a mention is outside its text.
    """
    waiting: dict[DocumentKey, list[Prediction]] = {}
    for one in predictions:
        waiting.setdefault(one.document_key, []).append(one)
    waiting |= {empty.document_key: [] for empty in predictions.without_mentions}
    by_id: dict[str, list[DocumentKey]] = {}
    for key in waiting:
        by_id.setdefault(key[0], []).append(key)
    for doc in documents:
        keys = by_id.get(doc.id, [])
        key = keys[0] if len(keys) == 1 else doc.key
        found = waiting.pop(key, None)
        if found is not None:
            links = tuple(_to_link(each, doc, kb) for each in found)
            yield ReviewedDocument(doc.id, doc.text, links, doc.source, doc.ordinal)
    missing += (key[0] for key in waiting)


def _to_link(one: Prediction, doc: Document, kb: KnowledgeBase) -> Link:
    if not one.start < one.end <= len(doc.text):
        what = "a mention of the predictions is outside the text: the document has changed since it was linked"
        where = f"document {format_id(doc.id)}, {one.start} to {one.end}"
        raise InputError("review-document-changed", what, where=where, fix="give the documents that were linked, or link again")
    mention = Mention(one.start, one.end, doc.text[one.start : one.end])
    known = {each.name: value for each in EVIDENCE if (value := getattr(one, each.name)) is not None}
    return Link(mention, tuple(_add_names(ids[0], score, kb) for ids, score, _ in one.answers), **known)


def _add_names(concept_id: str, score: float, kb: KnowledgeBase) -> Candidate:
    """Return a candidate with the names of the knowledge base; an id that it does not have keeps the id as its name."""
    row = kb.concept_ids.find(concept_id)
    if row < 0:
        return Candidate(concept_id, "", score)
    preferred, group = kb.label_of(row)
    return Candidate(concept_id, "", score, preferred, group)


def read_links_table(path: Path, kb: KnowledgeBase, documents: Iterable[Document] | None = None) -> Iterator[ReviewedDocument]:
    """Yield the documents of a table of links (`onym link -o links.tsv`). Without documents, only surfaces are known."""
    rows = read_flat(path).to_dicts()
    texts: dict[str, str] = {}
    for doc in documents or ():
        if texts.setdefault(doc.id, doc.text) != doc.text:
            fix = "review predictions (.jsonl) instead: they tell documents with the same id apart"
            where = f"document {format_id(doc.id)}"
            raise InputError("documents-alike", "two documents have the same id", where=where, fix=fix)
    by_document: dict[str, list[dict[str, Any]]] = {}
    with code_table_errors(path):
        for row in rows:
            by_document.setdefault(str(row["document"]), []).append(row)
    for document_id, found in by_document.items():
        text = texts.get(document_id)
        with code_table_errors(path):
            links = tuple(_flat_link(row, text, kb) for row in found)
        yield ReviewedDocument(document_id, text, links)


def _flat_link(row: Mapping[str, Any], text: str | None, kb: KnowledgeBase) -> Link:
    start, end, surface = row["start"], row["end"], row.get("text")
    if surface is None or (text is not None and text[start:end] != surface):
        what = "the table has no text of mentions" if surface is None else "the text at a mention differs from the table"
        where = f"document {format_id(row['document'])}, {start} to {end}"
        raise InputError("review-document-changed", what, where=where, fix="give the documents that were linked, or link again")
    concept_id = row.get("concept_id")
    candidates = (_add_names(_curie(concept_id), row.get("score") or 0.0, kb),) if concept_id else ()
    known = {each.name: each.from_cell(row[each.column]) for each in EVIDENCE if row.get(each.column) is not None}
    return Link(Mention(start, end, surface, type=row.get("type") or ""), candidates, **known)


def read_mapped_table(path: Path, column: str, kb: KnowledgeBase) -> Iterator[ReviewedDocument]:
    """Yield the rows of a table of mapped terms (`onym map -o mapped.csv`), each as a document. Empty terms are skipped."""
    table = read_terms(path, column)
    columns = {name: at for at, name in enumerate(table.columns)}
    if missing := [name for name in ("concept_id", "candidates") if name not in columns]:
        what = f"the table has no column {missing[0]!r}"
        raise InputError("table-columns", what, where=path.name, fix="give a table that onym map wrote")
    own = [name for name in table.columns if name not in TERM_COLUMNS and name != column]
    for number, values in enumerate(table.rows, 1):
        cells = {name: cell_text(values[at]) for name, at in columns.items()}
        term = cells[column].strip()
        if term:
            detail = "\n".join(f"{name}: {cells[name]}" for name in own if cells[name]) or None
            with code_table_errors(path):
                link = _map_link(term, cells, kb)
            yield ReviewedDocument(str(number), term, (link,), path.name, number, detail)


def _map_link(term: str, cells: Mapping[str, str], kb: KnowledgeBase) -> Link:
    shown = _SHOWN_CANDIDATE.findall(cells["candidates"])
    candidates = tuple(_add_names(_curie(concept_id), float(score), kb) for concept_id, _, score in shown)
    if cells["concept_id"] and not candidates:
        candidates = (_add_names(_curie(cells["concept_id"]), 1.0, kb),)
    confidence = float(cells["confidence"]) if cells.get("confidence") else None
    reason = next((each for each in EVIDENCE if each.name == "nil_reason"), None)
    nil_reason = cells.get("nil_reason") or None
    nil: Any = nil_reason if reason is not None and nil_reason in reason.words else None
    return Link(Mention(0, len(term), term), candidates, confidence=confidence, nil_reason=nil)


def read_mappings(path: Path, kb: KnowledgeBase) -> Iterator[ReviewedDocument]:
    """Yield the terms of an SSSOM table (`onym map -o x.sssom.tsv`), each as a document with its mappings as candidates."""
    by_term: dict[str, list[Mapping[str, str]]] = {}
    with code_table_errors(path):
        for row in read_sssom(path):
            by_term.setdefault(row["subject_label"] or row["subject_id"], []).append(row)
    for number, (term, rows) in enumerate(by_term.items(), 1):
        with code_table_errors(path):
            candidates = tuple(
                _add_names(_curie(row["object_id"]), float(row.get("similarity_score") or row.get("confidence") or 1.0), kb)
                for row in rows
            )
            confidence = float(rows[0]["confidence"]) if rows[0].get("confidence") else None
        link = Link(Mention(0, len(term), term), candidates, confidence=confidence)
        yield ReviewedDocument(str(number), term, (link,), path.name, number)


def _curie(concept_id: str) -> str:
    prefix, _, local = concept_id.partition(":")
    return f"{prefix.lower()}:{local}"
