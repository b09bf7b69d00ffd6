"""The queue of a desk: what to decide next, and how many links a decision covers.

Links are decided in clusters (same surface, expansion and answer). The next cluster is the one from which a decision removes
most expected errors per second: the sum of the probabilities that its undecided links are wrong, divided by the expected
seconds, since a wrong link takes longer than a right one. A cluster that was given to one reviewer is not given to another one
for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from onym.review.decisions import SCOPES, Decision, Scope, Standing
from onym.review.desk import Desk, DeskLink

SECONDS_RIGHT, SECONDS_WRONG = 3.0, 9.0
"""Expected seconds to decide a link that is right, and one that is wrong."""
_UNKNOWN = 0.5  # probability that a link without a confidence is wrong
_LEASE_SECONDS = 120.0
_NARROWNESS: dict[Scope, int] = {scope: rank for rank, scope in enumerate(SCOPES)}  # here, document, everywhere


@dataclass(frozen=True, slots=True)
class QueuedLink:
    """What the queue keeps of a link in memory. `wrong` is the probability that its answer is wrong."""

    number: int
    document: int
    cluster: int
    wrong: float
    is_queued: bool = True

    @classmethod
    def of(cls, link: DeskLink) -> QueuedLink:
        """Return what the queue keeps of a link; a link that is left unlinked is wrong if its best candidate is right."""
        confidence = link.confidence
        wrong = _UNKNOWN if confidence is None else confidence if link.nil_reason else 1 - confidence
        return cls(link.number, link.document, link.cluster, wrong, link.is_queued)


def gain_per_second(links: Iterable[QueuedLink]) -> float:
    """Return the expected number of errors that one decision for all these links removes per second.

    >>> sure, unsure = QueuedLink(1, 1, 1, 0.1), QueuedLink(2, 1, 2, 0.9)
    >>> gain_per_second([unsure]) > gain_per_second([sure]), gain_per_second([])
    (True, 0.0)
    """
    wrong = [link.wrong for link in links]
    if not wrong:
        return 0.0
    mean = sum(wrong) / len(wrong)
    return sum(wrong) / (SECONDS_RIGHT + (SECONDS_WRONG - SECONDS_RIGHT) * mean)


class ReviewQueue:
    """The state of a desk in memory. Only one thread at a time may use it."""

    def __init__(self, desk: Desk, clock: Callable[[], float] = time.monotonic) -> None:
        self.desk, self._clock = desk, clock
        self.standing = Standing(desk.decisions())
        self._clusters: dict[int, list[QueuedLink]] = {}
        for each in map(QueuedLink.of, desk.links()):
            self._clusters.setdefault(each.cluster, []).append(each)
        self.queued = sum(link.is_queued for links in self._clusters.values() for link in links)
        self._open = {number: self._count_open(number) for number in self._clusters}
        self.undecided = sum(self._open.values())
        gains = {number: gain_per_second(self._list_open(number)) for number in self._clusters}
        self._order = sorted(gains, key=lambda number: (-gains[number], number))
        self._first = 0  # all clusters before this position are decided
        self._leases: dict[int, tuple[str, float]] = {}

    def next(self, reviewer: str, skipped: Iterable[int] = ()) -> int | None:
        """Return the link to be decided next, that with the lowest confidence of its cluster; None if all are decided."""
        now, skip = self._clock(), set(skipped)
        while self._first < len(self._order) and not self._open[self._order[self._first]]:
            self._first += 1
        for cluster in self._order[self._first :]:
            holder, until = self._leases.get(cluster, (reviewer, 0.0))
            if self._open[cluster] and cluster not in skip and (holder == reviewer or until < now):
                self._leases[cluster] = reviewer, now + _LEASE_SECONDS
                return max(self._list_open(cluster), key=lambda link: (link.wrong, -link.number)).number
        return None

    def count_affected(self, link: DeskLink) -> dict[Scope, int]:
        """Return for each scope the number of links that a decision on this link would cover."""
        own = self._clusters.get(link.cluster, [])
        in_document = [each for each in own if each.document == link.document]
        return {
            "here": 1,
            "document": sum(self._would_change(each, "document") for each in in_document),
            "everywhere": sum(self._would_change(each, "everywhere") for each in own),
        }

    def decide(self, decision: Decision) -> Decision:
        """Store a decision, and return it as stored. A decision that is sent again changes nothing."""
        stored = self.desk.decide(decision)
        if not self.standing.knows(stored.id):
            self.standing.add(stored)
            touched = stored.cluster
            if touched in self._clusters:
                before, self._open[touched] = self._open[touched], self._count_open(touched)
                self.undecided += self._open[touched] - before
                self._first = 0 if stored.undoes else self._first
                self._leases.pop(touched, None)
        return stored

    def _would_change(self, link: QueuedLink, scope: Scope) -> bool:
        held = self.standing.of(link.number, link.document, link.cluster)
        return held is None or _NARROWNESS[held.scope] >= _NARROWNESS[scope]

    def _list_open(self, cluster: int) -> list[QueuedLink]:
        links = self._clusters[cluster]
        return [each for each in links if each.is_queued and self.standing.of(each.number, each.document, cluster) is None]

    def _count_open(self, cluster: int) -> int:
        return len(self._list_open(cluster))
