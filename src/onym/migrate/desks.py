"""Migrates review desks: links, candidates and decisions get the ids of a new release, in a new desk with the same id.

A decision for a concept without a certain successor is undone by a row of its own, so that the page asks for its links again,
with the successors among the candidates. Links of such a concept are queued, except in the sample of an audit. Missed mentions
keep their concept: there is no link to ask for, and the audit table lists them. Copies of a desk that were migrated alike can
still be merged.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from onym.kb.replacements import name_of
from onym.migrate.audit import Migrated, describe_source
from onym.migrate.links import UNDECIDED, Fate, LinkMigrator, LinkRecord
from onym.review.audit import PLAN
from onym.review.decisions import Decision, Standing
from onym.review.desk import (
    FORMAT,
    Desk,
    DeskDocument,
    DeskFacts,
    DeskLink,
    open_desk,
    write_clusters,
    write_decisions,
    write_documents,
    write_facts,
    write_links,
    write_value,
)
from onym.store.sqlite import new_database
from onym.types import Candidate, Progress, silent

_MAGIC = b"SQLite format 3\x00"


def is_database(path: Path) -> bool:
    """Return whether a file starts like an SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def iter_desk_records(
    path: Path, out: Path, migrator: LinkMigrator, result: Migrated, *, progress: Progress = silent
) -> Iterator[LinkRecord]:
    """Write the migrated desk, and yield what became of every link and decision. It appears when the iterator is exhausted."""
    with open_desk(path) as desk, new_database(out, FORMAT) as database:
        migration = _DeskMigration(desk, migrator)
        write_facts(database, migration.move_facts())
        if plan := desk.value(PLAN):
            write_value(database, PLAN, plan)
        write_documents(database, desk.documents())
        write_clusters(database, (replace(each, concept_id=migration.move(each.concept_id)) for each in desk.clusters()))
        write_links(database, map(migration.move_link, desk.links()))
        decisions = list(desk.decisions())
        write_decisions(database, migration.move_decisions(decisions))
        progress("documents", len(migration.documents))
        result.documents = len(migration.documents)
        result.changed = len(migration.changed)
        yield from migration.iter_link_records()
        yield from migration.iter_decision_records(decisions)


@dataclass
class _DeskMigration:
    """Moves the rows of a desk, and collects the documents that changed."""

    desk: Desk
    migrator: LinkMigrator

    def __post_init__(self) -> None:
        self.documents: dict[int, DeskDocument] = {each.number: replace(each, text=None) for each in self.desk.documents()}
        self.changed: set[int] = set()
        self._is_audit = self.desk.value(PLAN) is not None

    def move_facts(self) -> DeskFacts:
        """Return the facts with the new knowledge base, if the desk was made with the old one."""
        facts, found = self.desk.facts, self.migrator.found
        kb = found.new.digest if facts.kb == found.old.digest else facts.kb
        return facts.model_copy(update={"kb": kb, "source": describe_source(facts.source, found)})

    def move(self, concept_id: str | None) -> str | None:
        """Return the new id of a concept, or its old one if there is none for certain."""
        return concept_id and self.migrator.decide(concept_id).new

    def move_link(self, link: DeskLink) -> DeskLink:
        """Return a link with new ids; the successors of an undecided concept are candidates, and the link is queued."""
        fate = self.migrator.decide(link.concept_id, link.surface) if link.concept_id else None
        is_undecided = fate is not None and fate.outcome in UNDECIDED
        candidates = self._move_candidates(link.candidates, fate.suggested if fate and is_undecided else ())
        is_queued = link.is_queued or (is_undecided and not self._is_audit)
        moved = replace(link, concept_id=fate.new if fate else None, candidates=candidates, is_queued=is_queued)
        if moved != link:
            self.changed.add(link.document)
        return moved

    def _move_candidates(self, candidates: Iterable[Candidate], suggested: Sequence[str]) -> tuple[Candidate, ...]:
        moved: dict[str, Candidate] = {}
        for each in candidates:
            new = self.move(each.concept_id) or each.concept_id
            moved.setdefault(new, each if new == each.concept_id else self._rename(each, new))
        for concept_id in suggested:
            moved.setdefault(concept_id, self._rename(Candidate(concept_id, "", 0.0), concept_id))
        return tuple(moved.values())

    def _rename(self, candidate: Candidate, concept_id: str) -> Candidate:
        return replace(candidate, concept_id=concept_id, preferred_name=name_of(self.migrator.found.new, concept_id))

    def move_decisions(self, decisions: Sequence[Decision]) -> Iterator[Decision]:
        """Yield the decisions with new ids, then an undo of each that holds but names a concept without certain successor."""
        number = 0
        for each in decisions:
            number = max(number, each.number)
            new = self.move(each.concept_id)
            yield each if new == each.concept_id else replace(each, concept_id=new, kb=self.migrator.found.new.digest)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for each in self._list_undecided(decisions):
            number += 1
            yield Decision(
                id=uuid.uuid4().hex,
                reviewer=each.reviewer,
                time=now,
                verdict="undo",
                scope=each.scope,
                document=each.document,
                cluster=each.cluster,
                kb=self.migrator.found.new.digest,
                undoes=each.id,
                number=number,
            )

    def _list_undecided(self, decisions: Iterable[Decision]) -> list[Decision]:
        holding = (each for each in Standing(decisions).list_holding() if each.concept_id and each.verdict != "missed")
        return [each for each in holding if self._decide(each).outcome in UNDECIDED]

    def _decide(self, decision: Decision) -> Fate:
        return self.migrator.decide(decision.concept_id or "")

    def iter_link_records(self) -> Iterator[LinkRecord]:
        """Yield what became of the concept of each link."""
        for link in self.desk.links():
            if link.concept_id:
                fate = self.migrator.decide(link.concept_id, link.surface)
                yield self._record(link.document, "link", link.start, link.end, fate)

    def iter_decision_records(self, decisions: Iterable[Decision]) -> Iterator[LinkRecord]:
        """Yield what became of the concept of each decision that holds."""
        for each in Standing(decisions).list_holding():
            if each.concept_id:
                link = self.desk.link(each.link) if each.link and each.start is None else None
                start, end = (link.start, link.end) if link else (each.start, each.end)
                yield self._record(each.document or 0, f"decision {each.id}", start, end, self._decide(each))

    def _record(self, document: int, part: str, start: int | None, end: int | None, fate: Fate) -> LinkRecord:
        own = self.documents.get(document)
        return LinkRecord(own.source if own else "", own.ordinal if own else 0, own.id if own else "", part, start, end, fate)
