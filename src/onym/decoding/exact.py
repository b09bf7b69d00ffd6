"""Best-first search: the true best names of the trie, with a proof.

Log-probabilities only fall along a path. By sum, a prefix bounds all names below it; by mean, a prefix with log-probability s
after t tokens bounds them by s / (t + l), where l is the longest way down to a leaf. When no open prefix is bounded above the
k-th name found, the k names are the best there are (Stahlberg and Byrne 2019; Meister and others 2020). By mean it is loose.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from onym.decoding.beam import BeamSearch
from onym.decoding.explorer import Explorer, Floats, Request
from onym.decoding.results import Decoded, Hypothesis, Ranking, best
from onym.decoding.session import Ints
from onym.trie.packed import ROOT

WIDTH = 5
"""Of the beam search that is fallen back on, at least."""


class _Prefix(NamedTuple):
    node: int
    log_prob: float
    depth: int
    parent: int


@dataclass(slots=True)
class _Branch:
    """The children of a node that are no leaves, the most promising first; they are opened one by one."""

    parent: _Prefix
    children: Ints
    log_probs: Floats
    bounds: Floats
    position: int = 0

    def take(self) -> _Prefix:
        """Return the next child."""
        position, self.position = self.position, self.position + 1
        return _Prefix(int(self.children[position]), float(self.log_probs[position]), self.parent.depth + 1, self.parent.node)


@dataclass(slots=True)
class _Search:
    """The search of one mention: open branches by their bound, the best names so far, and what is being asked about."""

    heap: list[tuple[float, int, _Branch]] = field(default_factory=list)
    names: list[Hypothesis] = field(default_factory=list)
    frontier: list[_Prefix] = field(default_factory=list)
    is_proved: bool = False
    is_over_budget: bool = False
    count: int = 0

    def push(self, branch: _Branch) -> None:
        """Put a branch in its place by what it promises; one without more children is forgotten."""
        if branch.position < len(branch.children):
            self.count += 1
            heapq.heappush(self.heap, (-float(branch.bounds[branch.position]), self.count, branch))


class ExactSearch:
    """Searches the mentions of an explorer together, some prefixes of each at a time. The explorer keeps all children.

    A mention that needs more than `budget` prefixes is given up: its answer is the best of what was found and of a beam search.
    """

    def __init__(
        self, explorer: Explorer, top_k: int, *, ranking: Ranking = "sum", budget: int = 1000, at_once: int = 8
    ) -> None:
        self._explorer = explorer
        self._top_k = top_k
        self._ranking: Ranking = ranking
        self._budget = budget
        self._at_once = at_once

    def run(self) -> list[Decoded]:
        """Return the best names of every mention, and whether they were proved to be."""
        explorer = self._explorer
        searches = [_Search(frontier=[_Prefix(ROOT, 0.0, 0, ROOT)]) for _ in explorer.known]
        active = list(range(len(searches)))
        while active:
            for mention in active:
                self._round(searches[mention], mention)
            active = [m for m in active if not (searches[m].is_proved or searches[m].is_over_budget)]
            unproved = [mention for mention, search in enumerate(searches) if not search.is_proved]
            if active:
                explorer.keep(unproved)
            explorer.ask([request for mention in active for request in self._unknown(searches[mention], mention)])
        self._fall_back(searches)
        counts = explorer.expansions
        return [Decoded(best(s.names, self._ranking, self._top_k), s.is_proved, int(counts[m])) for m, s in enumerate(searches)]

    def _round(self, search: _Search, mention: int) -> None:
        """Take in what was asked about, and choose what to ask next."""
        for prefix in search.frontier:
            self._take_in(search, mention, prefix)
        search.frontier = self._next(search)
        search.is_proved = not search.frontier
        search.is_over_budget = self._explorer.expansions[mention] + len(search.frontier) > self._budget

    def _take_in(self, search: _Search, mention: int, prefix: _Prefix) -> None:
        """Take the names that end below a prefix, and put its other children on the heap."""
        trie, known = self._explorer.trie, self._explorer.known[mention][prefix.node]
        log_probs = known.log_probs + np.float32(prefix.log_prob)
        is_possible, is_end = np.isfinite(log_probs), trie.is_leaf(known.children)
        for child in np.flatnonzero(is_end & is_possible).tolist():
            search.names.append(Hypothesis(int(known.children[child]), float(log_probs[child]), prefix.depth + 1))
        search.names = list(best(search.names, self._ranking, self._top_k))
        onward = np.flatnonzero(~is_end & is_possible)
        children, log_probs = known.children[onward], log_probs[onward]
        bounds = log_probs
        if self._ranking == "mean":
            bounds = log_probs / (prefix.depth + 1 + trie.height[children].astype(np.float32))
        order = np.argsort(-bounds, kind="stable")
        search.push(_Branch(prefix, children[order], log_probs[order], bounds[order]))

    def _next(self, search: _Search) -> list[_Prefix]:
        """Return the most promising prefixes that may still lead to one of the best names."""
        is_full = len(search.names) == self._top_k
        worst = search.names[-1].score(self._ranking) if is_full else -np.inf
        found: list[_Prefix] = []
        while search.heap and len(found) < self._at_once and -search.heap[0][0] > worst:
            branch = heapq.heappop(search.heap)[2]
            found.append(branch.take())
            search.push(branch)
        return found

    def _unknown(self, search: _Search, mention: int) -> list[Request]:
        known = self._explorer.known[mention]
        return [Request(mention, each.node, each.parent) for each in search.frontier if each.node not in known]

    def _fall_back(self, searches: list[_Search]) -> None:
        unproved = [mention for mention, search in enumerate(searches) if not search.is_proved]
        beams = BeamSearch(self._explorer, max(self._top_k, WIDTH), ranking=self._ranking).run(unproved)
        for mention, beam in zip(unproved, beams, strict=True):
            both = {each.leaf: each for each in (*beam.hypotheses, *searches[mention].names)}
            searches[mention].names = list(both.values())
