"""The audit table of a migration, its counts, and the queue of links that a person must decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from onym.corpora.reading import PlannedFile
from onym.kb import KnowledgeBase
from onym.kb.replacements import Replacements, name_of
from onym.migrate.links import LinkRecord, Outcome
from onym.outputs.predictions import Prediction
from onym.outputs.table import TERM_COLUMNS, columns_of
from onym.types import Problem, style_id

AUDIT_COLUMNS: dict[str, type] = {
    "source": str, "ordinal": int, "document": str, "part": str, "start": int, "end": int, "old": str, "old_name": str,
    "new": str, "new_name": str, "outcome": str, "confidence": float, "suggested": str, "why": str,
}  # fmt: skip
"""Columns of the audit table: one row for each link. `new` is empty for a link that a person must decide."""


@dataclass
class Migrated:
    """The result of a migration: counts of links by outcome, of documents (or rows), and of changed ones; and problems."""

    links: Counter[Outcome] = field(default_factory=Counter)
    documents: int = 0
    changed: int = 0
    problems: list[Problem] = field(default_factory=list)
    files: list[PlannedFile] = field(default_factory=list)

    def count(self, records: Iterable[LinkRecord]) -> Iterator[LinkRecord]:
        """Count records while they are yielded."""
        for record in records:
            self.links[record.fate.outcome] += 1
            yield record

    def count_undecided(self) -> int:
        """Return the number of links that a person must decide."""
        return self.links["suggested"] + self.links["dead"] + self.links["unknown"]

    def counts(self) -> dict[str, int]:
        """Return the counts as plain values: links by outcome, then documents and changed documents."""
        links = {outcome: self.links[outcome] for outcome in get_args(Outcome)}
        return {**links, "documents": self.documents, "changed": self.changed}


def audit_row(record: LinkRecord, found: Replacements) -> list[Any]:
    """Return the row of a link in the audit table."""
    fate = record.fate
    new = "" if record.is_undecided else fate.new
    ids: Sequence[Any] = (style_id(fate.old), name_of(found.old, fate.old), new and style_id(new), name_of(found.new, new))
    others = "|".join(map(style_id, fate.suggested)) or None
    where = (record.source or None, record.ordinal or None, record.document or None, record.part, record.start, record.end)
    return [*where, *(each or None for each in ids), fate.outcome, fate.confidence, others, fate.why]


def queue_line(record: LinkRecord) -> Prediction:
    """Return an undecided link of a text as a prediction: its answers are the suggestions, and none makes it unlinked."""
    answers = tuple(((each,), 1.0 / rank, rank - 1) for rank, each in enumerate(record.fate.suggested, 1))
    return Prediction(record.document, record.start or 0, record.end or 0, answers, record.source, record.ordinal)


_OLD_COLUMNS = ("old", "old_name", "outcome", "why")


def queue_columns(record: LinkRecord) -> dict[str, type]:
    """Return the columns of the queue of a table: its own, those of `onym map`, and what became of the id."""
    own = [name for name, _ in record.cells if name not in TERM_COLUMNS and name not in _OLD_COLUMNS]
    return columns_of(own) | dict.fromkeys(_OLD_COLUMNS, str)


def queue_row(record: LinkRecord, found: Replacements) -> list[Any]:
    """Return an undecided link of a table as a row of `onym map` without an answer: its candidates are the suggestions."""
    fate = record.fate
    own = [value for name, value in record.cells if name not in TERM_COLUMNS and name not in _OLD_COLUMNS]
    ranked = enumerate(fate.suggested, 1)
    shown = "; ".join(f"{style_id(each)} {name_of(found.new, each)} ({1 / rank:.3f})" for rank, each in ranked)
    answer = [shown or None if name == "candidates" else None for name in TERM_COLUMNS]
    return [*own, *answer, style_id(fate.old), name_of(found.old, fate.old) or None, fate.outcome, fate.why]


def describe_kb(kb: KnowledgeBase) -> dict[str, Any]:
    """Return a knowledge base as in the header of a predictions file."""
    return {"digest": kb.digest, "concepts": len(kb), "names": len(kb.names)}


def describe_source(source: Mapping[str, Any], found: Replacements) -> dict[str, Any]:
    """Return the header of predictions or a batch after a migration: with the new knowledge base, and both digests."""
    is_old = isinstance(source.get("kb"), dict) and source["kb"].get("digest") == found.old.digest
    kb = {"kb": describe_kb(found.new)} if is_old else {}
    return {**source, **kb, "migrated": {"from": found.old.digest, "to": found.new.digest}}
