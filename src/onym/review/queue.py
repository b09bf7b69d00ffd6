"""The queue of a desk: what to decide next, and how many links a decision covers.

Links are decided in clusters (same surface, expansion and answer). The next cluster is the one from which a decision removes
most expected errors per second, see `onym.review.order`. A cluster that was given to one reviewer is not given to another one
for a while. A blind reviewer has a queue of his own, which no decision of others changes.

In a desk of disagreements, only a decision that was made after the desk settles a link.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from onym.review.decisions import SCOPES, Decision, Scope, Standing
from onym.review.desk import Desk, DeskLink
from onym.review.order import ExpectedErrors, gain_per_second

_UNKNOWN = 0.5  # probability that a link without a confidence is wrong
_LEASE_SECONDS = 120.0
_NARROWNESS: dict[Scope, int] = {scope: rank for rank, scope in enumerate(SCOPES)}  # here, document, everywhere


@dataclass(frozen=True, slots=True)
class QueuedLink:
    """What the queue keeps of a link in memory. `wrong` is the probability that its answer is wrong, by its confidence."""

    number: int
    document: int
    cluster: int
    wrong: float
    is_linked: bool = True
    is_queued: bool = True

    @classmethod
    def of(cls, link: DeskLink) -> QueuedLink:
        """Return what the queue keeps of a link; a link that is left unlinked is wrong if its best candidate is right."""
        confidence, is_linked = link.confidence, link.concept_id is not None and link.nil_reason is None
        wrong = _UNKNOWN if confidence is None else 1 - confidence if is_linked else confidence
        return cls(link.number, link.document, link.cluster, wrong, is_linked, link.is_queued)


def traits_of(link: DeskLink) -> tuple[Hashable, ...]:
    """Return what clusters with errors often share: the concept, its vocabulary and type, and the last word of the surface."""
    concept_id = link.candidates[0].concept_id if link.candidates else ""
    kind = concept_id.partition(":")[0], link.type, link.concept_id is None
    return concept_id, kind, (link.surface.lower().split() or [""])[-1]


class ReviewQueue:
    """The state of a desk in memory. Only one thread at a time may use it. With `reviewer`, it is that of a blind reviewer."""

    def __init__(self, desk: Desk, clock: Callable[[], float] = time.monotonic, *, reviewer: str = "") -> None:
        self.desk, self._clock, self._is_blind = desk, clock, bool(reviewer)
        self.standing = Standing(desk.decisions(), reviewer)
        self._clusters: dict[int, list[QueuedLink]] = {}
        traits: dict[int, tuple[Hashable, ...]] = {}
        for link in desk.links():
            self._clusters.setdefault(link.cluster, []).append(QueuedLink.of(link))
            if link.cluster not in traits:
                traits[link.cluster] = traits_of(link)
        self._numbers = list(self._clusters)
        self._positions = {number: at for at, number in enumerate(self._numbers)}
        priors = [sum(each.wrong for each in links) / len(links) for links in self._clusters.values()]
        self._errors = ExpectedErrors(priors, list(traits.values()))
        self.queued = sum(link.is_queued for links in self._clusters.values() for link in links)
        self._open = np.zeros(len(self._numbers), dtype=np.int64)
        for number in self._numbers:
            self._count(number)
        self._leases: dict[int, tuple[str, float]] = {}

    @property
    def undecided(self) -> int:
        """The number of queued links that are still to be decided."""
        return int(self._open.sum())

    def next(self, reviewer: str, skipped: Iterable[int] = ()) -> int | None:
        """Return the link to be decided next, that with the lowest confidence of its cluster; None if all are decided."""
        gains = np.where(self._open > 0, gain_per_second(self._errors.probabilities(), self._open) + 1e-12, 0.0)
        for cluster in {*skipped, *self._leased_to_others(reviewer)} & self._positions.keys():
            gains[self._positions[cluster]] = 0.0
        if not gains.size or gains.max() == 0:
            return None
        cluster = self._numbers[int(gains.argmax())]
        self._leases[cluster] = reviewer, self._clock() + _LEASE_SECONDS
        return max(self._list_open(cluster), key=lambda link: (link.wrong, -link.number)).number

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
            if stored.cluster in self._clusters:
                self._count(stored.cluster)
                self._leases.pop(stored.cluster, None)
        return stored

    def _leased_to_others(self, reviewer: str) -> Iterator[int]:
        now = self._clock()
        self._leases = {cluster: lease for cluster, lease in self._leases.items() if lease[1] >= now}
        return (cluster for cluster, (holder, _) in self._leases.items() if holder != reviewer and not self._is_blind)

    def _would_change(self, link: QueuedLink, scope: Scope) -> bool:
        held = self.standing.of(link.number, link.document, link.cluster)
        return held is None or _NARROWNESS[held.scope] >= _NARROWNESS[scope]

    def _is_open(self, link: QueuedLink) -> bool:
        held = self.standing.of(link.number, link.document, link.cluster)
        return link.is_queued and (held is None or held.number <= self.desk.facts.settled_after)

    def _list_open(self, cluster: int) -> list[QueuedLink]:
        return [each for each in self._clusters[cluster] if self._is_open(each)]

    def _count(self, cluster: int) -> None:
        """Count the open links of a cluster, and note how many of the others are wrong."""
        links, at = self._clusters[cluster], self._positions[cluster]
        self._open[at] = sum(map(self._is_open, links))
        held = [(link, self.standing.of(link.number, link.document, cluster)) for link in links]
        wrong = [_is_wrong(link, found) for link, found in held if found is not None and found.verdict != "unsure"]
        self._errors.observe(at, sum(wrong) / len(wrong) if wrong else None)


def _is_wrong(link: QueuedLink, decision: Decision) -> bool:
    """Return whether a decision changes the answer of a link."""
    return decision.verdict != "right" if link.is_linked else decision.verdict not in ("no-concept", "not-a-mention")
