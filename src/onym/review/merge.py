"""Joins copies of a desk that reviewers worked on separately: every decision once, by its id.

Copies have the same desk id, and must have the same documents and links. Decisions are sorted by time, and those of one copy
stay in its order. As in a single desk, the narrowest scope holds, and of several decisions with the same scope the latest:
where two reviewers decide overlapping links `everywhere`, the later decision holds for all links that both cover, until it is
undone.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from onym.errors import InputError
from onym.review.audit import PLAN
from onym.review.decisions import Decision
from onym.review.desk import (
    FORMAT,
    Desk,
    DeskLink,
    open_desk,
    write_clusters,
    write_decisions,
    write_documents,
    write_facts,
    write_links,
    write_value,
)
from onym.review.reviewers import Reviewers
from onym.store.sqlite import Database, new_database


class MergeCounts(NamedTuple):
    """Counts of a merged desk: its decisions, those that several copies have, its reviewers, and the links that it queues."""

    decisions: int
    shared: int
    reviewers: int
    queued: int


def merge_desks(paths: Sequence[Path], output: Path, *, disagreements: bool = False) -> MergeCounts:
    """Write a desk with the decisions of several copies, atomically; with `disagreements`, it queues only disputed links.

    Raise InputError if the desks are not copies of one desk, or if two different decisions have the same id.
    """
    with ExitStack() as stack:
        desks = [stack.enter_context(open_desk(path)) for path in paths]
        _require_copies(desks)
        histories = [list(desk.decisions()) for desk in desks]
        merged = merge_decisions(histories)
        disputed = {each.link.number for each in Reviewers(merged).iter_disagreements(desks[0])} if disagreements else None
        with new_database(output, FORMAT) as database:
            queued = _write(database, desks[0], merged, disputed)
    shared = sum(map(len, histories)) - len(merged)
    return MergeCounts(len(merged), shared, len({each.reviewer for each in merged}), queued)


def merge_decisions(histories: Iterable[Sequence[Decision]]) -> list[Decision]:
    """Return the decisions of several histories, each once, numbered from 1; raise InputError if an id has two meanings.

    >>> def decide(number, time, verdict="unsure", **more):
    ...     return Decision(id=f"decision-{number}", reviewer="ann", time=time, verdict=verdict, **more)
    >>> first = [decide(1, "08:00", link=1), decide(3, "08:20", "undo", undoes="decision-1")]
    >>> [each.id[-1] for each in merge_decisions([first, [decide(1, "08:00", link=1), decide(2, "08:10", link=2)]])]
    ['1', '2', '3']
    """
    merged: dict[str, Decision] = {}
    for decision in heapq.merge(*histories, key=lambda each: (each.time, each.id)):
        known = merged.setdefault(decision.id, replace(decision, number=len(merged) + 1))
        if replace(known, number=0) != replace(decision, number=0):
            what = "two different decisions have the same id"
            raise InputError("review-decision", what, where=f"decision {decision.id}", fix="merge copies that you trust")
    return list(merged.values())


def _require_copies(desks: Sequence[Desk]) -> None:
    first = desks[0]
    for other in desks[1:]:
        if other.facts.id != first.facts.id:
            what = "the desks are not copies of one desk"
            raise InputError("review-merge", what, where=other.path.name, fix="give each reviewer a copy of the same desk")
        if _digest(other) != _digest(first):
            what = "the copies have different documents, links or texts, as after a purge"
            raise InputError("review-merge", what, where=other.path.name, fix="purge the same documents from each copy")


def _digest(desk: Desk) -> str:
    """Return the digest of the documents and links of a desk; which links are queued does not matter."""
    digest = hashlib.sha256()
    for document in desk.documents():
        digest.update(repr(document).encode("utf-8", "surrogatepass"))
    for link in desk.links():
        digest.update(repr(replace(link, is_queued=True)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _write(database: Database, desk: Desk, decisions: Sequence[Decision], disputed: set[int] | None) -> int:
    """Write the rows of a merged desk, and return the number of links that it queues."""
    queued = 0

    def links() -> Iterator[DeskLink]:
        nonlocal queued
        for link in desk.links():
            own = link if disputed is None else replace(link, is_queued=link.number in disputed)
            queued += own.is_queued
            yield own

    settled_after = desk.facts.settled_after if disputed is None else len(decisions)
    write_facts(database, desk.facts.model_copy(update={"settled_after": settled_after}))
    if plan := desk.value(PLAN):
        write_value(database, PLAN, plan)
    write_documents(database, desk.documents())
    write_clusters(database, desk.clusters())
    write_links(database, links())
    write_decisions(database, decisions)
    return queued
