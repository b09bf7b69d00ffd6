"""Decisions of reviewers, and which of them holds for a link.

A decision has a scope: `here` (one link), `document` (all links of the cluster in the document) or `everywhere` (all links of
the cluster). For each link the decision with the narrowest scope holds; of several with the same scope, the latest. A decision
that was undone never holds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from onym.errors import InputError
from onym.types import require_text

Verdict = Literal[
    "right", "concept", "broader", "narrower", "close", "not-a-mention", "span", "missed", "no-concept", "unsure", "undo"
]
"""What a reviewer says of a link.

right            the linked concept is right
concept          another concept is right: `concept_id`
broader          the best concept of the vocabulary, `concept_id`, is broader than the mention
narrower         the best concept is narrower than the mention
close            the best concept is close to what is meant
not-a-mention    the text is not a mention
span             the mention has other bounds: `start` and `end`, and perhaps another `concept_id`
missed           a mention that was not found: `document`, `start`, `end` and `concept_id`
no-concept       the vocabulary has no concept for the mention
unsure           the reviewer cannot decide
undo             the decision `undoes` no longer holds
"""
Scope = Literal["here", "document", "everywhere"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
SCOPES: tuple[Scope, ...] = get_args(Scope)
WITH_CONCEPT: frozenset[Verdict] = frozenset({"right", "concept", "broader", "narrower", "close", "span", "missed"})
"""Verdicts that may name a concept."""
_NEEDS_CONCEPT = WITH_CONCEPT - {"span"}
_WITH_SPAN = ("span", "missed")
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_MAX_CONCEPT, _MAX_REVIEWER = 200, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision of a reviewer. The client makes the id, so that a decision that is sent twice counts once.

    `number` is its position in the desk, and 0 before it is stored. `time` is in UTC, `seconds` is how long the reviewer looked
    at the link. `link`, `document` and `cluster` are numbers of the desk. `kb` is the digest of the knowledge base.

    >>> Decision(id="0123456789", reviewer="ann", time="2026-11-19T08:00:00Z", verdict="unsure", link=1).scope
    'here'
    """

    id: str
    reviewer: str
    time: str
    verdict: Verdict
    seconds: float = 0.0
    scope: Scope = "here"
    link: int | None = None
    document: int | None = None
    cluster: int | None = None
    start: int | None = None
    end: int | None = None
    concept_id: str | None = None
    kb: str = ""
    undoes: str | None = None
    number: int = 0

    def __post_init__(self) -> None:
        for text in (self.id, self.reviewer, self.time, self.kb):
            require_text(text)
        if problem := next(self._problems(), ""):
            raise InputError(
                "review-decision", problem, where=f"decision {self.id[:64]!r}", fix="see the reference of the desk"
            )

    def _problems(self) -> Iterator[str]:
        if not _ID.fullmatch(self.id):
            yield "the id of a decision has 8 to 64 letters, digits, hyphens or underscores"
        if self.verdict not in VERDICTS or self.scope not in SCOPES:
            yield "unknown verdict or scope"
        if not 0 < len(self.reviewer) <= _MAX_REVIEWER or not math.isfinite(self.seconds) or self.seconds < 0:
            yield "the reviewer is missing, or the seconds are negative"
        if self.concept_id is not None and (self.verdict not in WITH_CONCEPT or not 2 < len(self.concept_id) <= _MAX_CONCEPT):
            yield "this verdict names no concept, or the id is too long"
        if self.concept_id is None and self.verdict in _NEEDS_CONCEPT:
            yield "this verdict needs a concept"
        if (self.verdict == "undo") != (self.undoes is not None):
            yield "an undo, and nothing else, names the decision that it undoes"
        yield from self._problems_of_span()

    def _problems_of_span(self) -> Iterator[str]:
        is_span = self.verdict in _WITH_SPAN
        if is_span != (self.start is not None and self.end is not None) or (not is_span and self.start != self.end):
            yield "other bounds and missed mentions, and nothing else, have a start and an end"
        elif self.start is not None and self.end is not None and not 0 <= self.start < self.end:
            yield "the bounds are empty, reversed or negative"
        if is_span and self.scope != "here":
            yield "other bounds and missed mentions are decided for one place"


class Standing:
    """The decisions that hold. With `reviewer`, only those of one reviewer count.

    >>> def decide(number, verdict, **more):
    ...     return Decision(id=f"decision-{number}", number=number, reviewer="ann", time="", verdict=verdict, **more)
    >>> all_of_cluster = decide(1, "not-a-mention", scope="everywhere", link=1, document=1, cluster=7)
    >>> standing = Standing([all_of_cluster, decide(2, "unsure", link=2, document=1, cluster=7)])
    >>> [standing.of(link, 1, 7).verdict for link in (1, 2)]
    ['not-a-mention', 'unsure']
    >>> standing.add(decide(3, "undo", undoes="decision-2"))
    >>> standing.of(2, 1, 7).verdict
    'not-a-mention'
    """

    def __init__(self, decisions: Iterable[Decision] = (), reviewer: str = "") -> None:
        self.reviewer = reviewer
        self._known: dict[str, Decision] = {}
        self._undone: set[str] = set()
        self._ids: set[str] = set()
        self._standing: dict[tuple[str, int, int], list[Decision]] = {}
        self._missed: dict[str, Decision] = {}
        for decision in decisions:
            self.add(decision)

    def add(self, decision: Decision) -> None:
        """Add a decision, in the order of the desk."""
        if self.reviewer and decision.reviewer != self.reviewer:
            return
        self._ids.add(decision.id)
        if decision.undoes is not None:
            self._undone.add(decision.undoes)
            self._missed.pop(decision.undoes, None)
            return
        self._known[decision.id] = decision
        if decision.verdict == "missed":
            self._missed[decision.id] = decision
        else:
            self._standing.setdefault(_key(decision), []).append(decision)

    def of(self, link: int, document: int, cluster: int) -> Decision | None:
        """Return the decision that holds for a link, or None if nobody has decided it."""
        return self._last("link", link, 0) or self._last("document", cluster, document) or self._last("cluster", cluster, 0)

    def knows(self, decision_id: str) -> bool:
        """Return whether a decision or an undo with this id was added."""
        return decision_id in self._ids

    def list_missed(self) -> list[Decision]:
        """Return the missed mentions, in order."""
        return [each for each in self._missed.values() if each.id not in self._undone]

    def list_holding(self) -> list[Decision]:
        """Return all decisions that were not undone, in order."""
        return [each for each in self._known.values() if each.id not in self._undone]

    def _last(self, kind: str, one: int, other: int) -> Decision | None:
        standing = self._standing.get((kind, one, other))
        while standing and standing[-1].id in self._undone:
            standing.pop()
        return standing[-1] if standing else None


def _key(decision: Decision) -> tuple[str, int, int]:
    """Return the key of the links that a decision covers."""
    if decision.scope == "document":
        return "document", decision.cluster or 0, decision.document or 0
    return ("cluster", decision.cluster or 0, 0) if decision.scope == "everywhere" else ("link", decision.link or 0, 0)
