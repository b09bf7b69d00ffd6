"""Searches names for any number of mentions, in batches of similar length, by beam or by exact best-first search."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from onym.methods.generative.decoding.explorer import Explorer, Floats, NodeRequest
from onym.methods.generative.decoding.session import Ints, Session
from onym.methods.generative.trie.packed import ROOT, PackedTrie, Restriction
from onym.models.torch_loading import fix_thread_count, single_core_workers

Ranking = Literal["mean", "sum"]
"""Score of a name: the mean of its token log-probabilities including the end token (as published), or their sum."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A generated name: its leaf in the trie, its log-probability, and its number of tokens (including the end token).

    >>> Hypothesis(7, -3.0, 2).score("mean"), Hypothesis(7, -3.0, 2).score("sum")
    (-1.5, -3.0)
    """

    leaf: int
    log_prob: float
    tokens: int

    def score(self, ranking: Ranking) -> float:
        """Return the score: mean or sum of the token log-probabilities."""
        return self.log_prob / self.tokens if ranking == "mean" else self.log_prob


@dataclass(frozen=True, slots=True)
class Decoded:
    """The best names of one mention, best first. If `is_proved`, no other name of the trie has a better score.

    `expansions` is the number of trie nodes that the model expanded.
    """

    hypotheses: tuple[Hypothesis, ...]
    is_proved: bool
    expansions: int


def best(hypotheses: list[Hypothesis], ranking: Ranking, count: int) -> tuple[Hypothesis, ...]:
    """Return the best hypotheses in order; ties are ordered by leaf."""
    return tuple(sorted(hypotheses, key=lambda each: (-each.score(ranking), each.leaf))[:count])


Stopping = Literal["transformers", "fairseq"]


class _BeamPrefix(NamedTuple):
    node: int
    log_prob: float
    parent: int


@dataclass(slots=True)
class _Beam:
    """The beam of one mention: its open prefixes, best first, and its finished names."""

    open: list[_BeamPrefix] = field(default_factory=lambda: [_BeamPrefix(ROOT, 0.0, ROOT)])
    names: list[Hypothesis] = field(default_factory=list)
    is_done: bool = False


class BeamSearch:
    """Beam search for all mentions of an explorer. The explorer must keep at least 2 * `width` children per node."""

    def __init__(
        self, explorer: Explorer, width: int, *, ranking: Ranking = "mean", stopping: Stopping = "transformers"
    ) -> None:
        self._explorer = explorer
        self._width = width
        self._ranking: Ranking = ranking
        self._stopping = stopping

    def run(self, mentions: Sequence[int] | None = None) -> list[Decoded]:
        """Return the best names of the mentions (default: all); finished mentions leave the batch."""
        explorer = self._explorer
        active = list(range(len(explorer.known)) if mentions is None else mentions)
        beams = {mention: _Beam() for mention in active}
        length = 1
        while active:
            for mention in active:
                self._advance(beams[mention], mention, length)
            active = [mention for mention in active if not beams[mention].is_done]
            requests = [request for mention in active for request in self._unknown(beams[mention], mention)]
            if requests:
                explorer.keep(active)
            explorer.ask(requests)
            length += 1
        counts = explorer.expansions
        return [Decoded(best(beam.names, self._ranking, self._width), False, int(counts[m])) for m, beam in beams.items()]

    def _unknown(self, beam: _Beam, mention: int) -> list[NodeRequest]:
        known = self._explorer.known[mention]
        return [NodeRequest(mention, each.node, each.parent) for each in beam.open if each.node not in known]

    def _advance(self, beam: _Beam, mention: int, length: int) -> None:
        if self._stopping == "transformers":
            self._advance_by_two(beam, self._continuations(beam, mention, 2 * self._width), length)
        else:
            self._advance_by_one(beam, self._continuations(beam, mention, self._width), length)

    def _advance_by_two(self, beam: _Beam, found: list[_BeamPrefix], length: int) -> None:
        ends = self._ends(found)
        taken = [
            Hypothesis(e.node, e.log_prob, length) for e, is_end in zip(found[: self._width], ends, strict=False) if is_end
        ]
        beam.names = list(best(beam.names + taken, self._ranking, self._width))
        beam.open = [each for each, is_end in zip(found, ends, strict=True) if not is_end][: self._width]
        beam.is_done = not beam.open or (len(beam.names) == self._width and not self._may_improve(beam, length))

    def _advance_by_one(self, beam: _Beam, found: list[_BeamPrefix], length: int) -> None:
        ends = self._ends(found)
        beam.names += [Hypothesis(e.node, e.log_prob, length) for e, is_end in zip(found, ends, strict=True) if is_end]
        del beam.names[self._width :]  # keep the names that finished first, like fairseq
        beam.open = [each for each, is_end in zip(found, ends, strict=True) if not is_end]
        beam.is_done = not beam.open or len(beam.names) == self._width

    def _may_improve(self, beam: _Beam, length: int) -> bool:
        """Return whether the best open prefix scores better than the worst finished name (transformers' stopping criterion)."""
        log_prob = beam.open[0].log_prob
        return (log_prob / length if self._ranking == "mean" else log_prob) > beam.names[-1].score(self._ranking)

    def _continuations(self, beam: _Beam, mention: int, count: int) -> list[_BeamPrefix]:
        """Return the best continuations of all open prefixes, best first."""
        parts = [(self._explorer.known[mention][prefix.node], prefix) for prefix in beam.open]
        scores = np.concatenate([known.log_probs + np.float32(prefix.log_prob) for known, prefix in parts])
        nodes = np.concatenate([known.children for known, _ in parts])
        parents = np.repeat([prefix.node for _, prefix in parts], [len(known.children) for known, _ in parts])
        order = np.argsort(-scores, kind="stable")[:count]
        order = order[np.isfinite(scores[order])]
        rows = zip(nodes[order].tolist(), scores[order].tolist(), parents[order].tolist(), strict=True)
        return [_BeamPrefix(*row) for row in rows]

    def _ends(self, found: Sequence[_BeamPrefix]) -> list[bool]:
        nodes = np.array([each.node for each in found], dtype=np.int64)
        ends: list[bool] = self._explorer.trie.is_leaf(nodes).tolist()
        return ends


WIDTH = 5
"""Minimum beam width of the fallback beam search."""


class _Prefix(NamedTuple):
    node: int
    log_prob: float
    depth: int
    parent: int


@dataclass(slots=True)
class _Branch:
    """The children of a node that are not leaves, sorted by their upper bound; `take` returns them one by one."""

    parent: _Prefix
    children: Ints
    log_probs: Floats
    bounds: Floats
    position: int = 0

    def take(self) -> _Prefix:
        """Return the child with the next highest bound."""
        position, self.position = self.position, self.position + 1
        return _Prefix(int(self.children[position]), float(self.log_probs[position]), self.parent.depth + 1, self.parent.node)


@dataclass(slots=True)
class _Search:
    """The state of one mention's search: open branches by upper bound, the best names so far, and prefixes being expanded."""

    heap: list[tuple[float, int, _Branch]] = field(default_factory=list)
    names: list[Hypothesis] = field(default_factory=list)
    frontier: list[_Prefix] = field(default_factory=list)
    is_proved: bool = False
    is_over_budget: bool = False
    count: int = 0

    def push(self, branch: _Branch) -> None:
        """Push a branch onto the heap by the bound of its next child; drop it if it has no more children."""
        if branch.position < len(branch.children):
            self.count += 1
            heapq.heappush(self.heap, (-float(branch.bounds[branch.position]), self.count, branch))


class ExactSearch:
    """Exact best-first search for all mentions of an explorer. The explorer must keep all children of a node.

    Each round expands up to `at_once` prefixes per mention. If a mention needs more than `budget` expansions, a beam search is
    run for it too, and the best names of both searches are returned.
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
        """Return the best names of every mention, and whether they are proved to be the best."""
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
        """Process the prefixes just expanded, and choose the next prefixes to expand."""
        for prefix in search.frontier:
            self._take_in(search, mention, prefix)
        search.frontier = self._next(search)
        search.is_proved = not search.frontier
        search.is_over_budget = self._explorer.expansions[mention] + len(search.frontier) > self._budget

    def _take_in(self, search: _Search, mention: int, prefix: _Prefix) -> None:
        """Collect the names that end after a prefix, and push its other children onto the heap."""
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
        """Return the prefixes with the highest bounds, if they may still lead to one of the best `top_k` names."""
        is_full = len(search.names) == self._top_k
        worst = search.names[-1].score(self._ranking) if is_full else -np.inf
        found: list[_Prefix] = []
        while search.heap and len(found) < self._at_once and -search.heap[0][0] > worst:
            branch = heapq.heappop(search.heap)[2]
            found.append(branch.take())
            search.push(branch)
        return found

    def _unknown(self, search: _Search, mention: int) -> list[NodeRequest]:
        known = self._explorer.known[mention]
        return [NodeRequest(mention, each.node, each.parent) for each in search.frontier if each.node not in known]

    def _fall_back(self, searches: list[_Search]) -> None:
        unproved = [mention for mention, search in enumerate(searches) if not search.is_proved]
        beams = BeamSearch(self._explorer, max(self._top_k, WIDTH), ranking=self._ranking).run(unproved)
        for mention, beam in zip(unproved, beams, strict=True):
            both = {each.leaf: each for each in (*beam.hypotheses, *searches[mention].names)}
            searches[mention].names = list(both.values())


Tokens = Sequence[int]
Start = Callable[[Sequence[Tokens]], Session]
"""Creates a session for a batch of sources."""


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """Search settings. `width` is the beam width, `top_k` the number of names returned (at most `width` for a beam search).

    `chain` is the maximum number of tokens of an unbranched path to read ahead in small passes.
    """

    search: Literal["beam", "exact"] = "beam"
    ranking: Ranking = "mean"
    width: int = 5
    top_k: int = 5
    stopping: Stopping = "transformers"
    budget: int = 1000
    at_once: int = 8
    batch: int = 32
    chain: int = 8


def search_names(
    start: Start,
    trie: PackedTrie,
    sources: Sequence[Tokens],
    prompts: Sequence[Tokens],
    config: SearchConfig,
    *,
    restriction: Restriction | None = None,
) -> list[Decoded]:
    """Return the best names for each source, in order; mentions of similar length are decoded together.

    Several batches run in parallel with one core each, which is faster than all cores on one batch at a time.
    """
    order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), len(prompts[i])), reverse=True)
    batches = [order[begin : begin + config.batch] for begin in range(0, len(order), config.batch)]

    def decode(batch: list[int]) -> list[Decoded]:
        session = start([sources[i] for i in batch])
        return _decode(session, trie, [prompts[i] for i in batch], config, restriction)

    decoded = _side_by_side(decode, batches)
    found = {i: each for batch, answers in zip(batches, decoded, strict=True) for i, each in zip(batch, answers, strict=True)}
    return [found[i] for i in range(len(sources))]


def _side_by_side(decode: Callable[[list[int]], list[Decoded]], batches: list[list[int]]) -> list[list[Decoded]]:
    cores = fix_thread_count()
    if cores == 1 or len(batches) < cores:
        return [decode(batch) for batch in batches]
    return list(single_core_workers(cores).map(decode, batches))


def _decode(
    session: Session, trie: PackedTrie, prompts: Sequence[Tokens], config: SearchConfig, restriction: Restriction | None
) -> list[Decoded]:
    widest = 2 * config.width if config.search == "beam" else None
    explorer = Explorer(session, trie, prompts, restriction=restriction, widest=widest, chain=config.chain)
    if config.search == "exact":
        limits = {"budget": config.budget, "at_once": config.at_once}
        return ExactSearch(explorer, config.top_k, ranking=config.ranking, **limits).run()
    found = BeamSearch(explorer, config.width, ranking=config.ranking, stopping=config.stopping).run()
    return [replace(each, hypotheses=each.hypotheses[: config.top_k]) for each in found]
