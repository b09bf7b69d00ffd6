"""Beam search over the trie, by the rules of transformers or by those of the published systems.

`transformers`: of the 2k best continuations those that end a name are taken if they are among the first k, and the k best that
do not end go on; a mention is done when it has k names and no open prefix has a better score so far than the worst of them.
`fairseq`, as GenBioEL and ANGEL run it: of the k best continuations those that end a name are taken and the others go on, so
that finished names use up the beam; a mention is done when it has k names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from onym.decoding.explorer import Explorer, Request
from onym.decoding.results import Decoded, Hypothesis, Ranking, best
from onym.trie.packed import ROOT

Stopping = Literal["transformers", "fairseq"]


class _Prefix(NamedTuple):
    node: int
    log_prob: float
    parent: int


@dataclass(slots=True)
class _Beam:
    """The search of one mention: its open prefixes, best first, and the names that it has."""

    open: list[_Prefix] = field(default_factory=lambda: [_Prefix(ROOT, 0.0, ROOT)])
    names: list[Hypothesis] = field(default_factory=list)
    is_done: bool = False


class BeamSearch:
    """Searches the mentions of an explorer together, a token at a time. The explorer keeps at least 2k children of a node."""

    def __init__(
        self, explorer: Explorer, width: int, *, ranking: Ranking = "mean", stopping: Stopping = "transformers"
    ) -> None:
        self._explorer = explorer
        self._width = width
        self._ranking: Ranking = ranking
        self._stopping = stopping

    def run(self, mentions: Sequence[int] | None = None) -> list[Decoded]:
        """Return the best names of the mentions, by default of all; those that are done leave the batch."""
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

    def _unknown(self, beam: _Beam, mention: int) -> list[Request]:
        known = self._explorer.known[mention]
        return [Request(mention, each.node, each.parent) for each in beam.open if each.node not in known]

    def _advance(self, beam: _Beam, mention: int, length: int) -> None:
        if self._stopping == "transformers":
            self._advance_by_two(beam, self._continuations(beam, mention, 2 * self._width), length)
        else:
            self._advance_by_one(beam, self._continuations(beam, mention, self._width), length)

    def _advance_by_two(self, beam: _Beam, found: list[_Prefix], length: int) -> None:
        ends = self._ends(found)
        taken = [
            Hypothesis(e.node, e.log_prob, length) for e, is_end in zip(found[: self._width], ends, strict=False) if is_end
        ]
        beam.names = list(best(beam.names + taken, self._ranking, self._width))
        beam.open = [each for each, is_end in zip(found, ends, strict=True) if not is_end][: self._width]
        beam.is_done = not beam.open or (len(beam.names) == self._width and not self._may_improve(beam, length))

    def _advance_by_one(self, beam: _Beam, found: list[_Prefix], length: int) -> None:
        ends = self._ends(found)
        beam.names += [Hypothesis(e.node, e.log_prob, length) for e, is_end in zip(found, ends, strict=True) if is_end]
        del beam.names[self._width :]  # who comes first is taken
        beam.open = [each for each, is_end in zip(found, ends, strict=True) if not is_end]
        beam.is_done = not beam.open or len(beam.names) == self._width

    def _may_improve(self, beam: _Beam, length: int) -> bool:
        """Tell, as transformers does, whether the best open prefix is better so far than the worst name."""
        log_prob = beam.open[0].log_prob
        return (log_prob / length if self._ranking == "mean" else log_prob) > beam.names[-1].score(self._ranking)

    def _continuations(self, beam: _Beam, mention: int, count: int) -> list[_Prefix]:
        """Return the best continuations of all open prefixes, best first."""
        parts = [(self._explorer.known[mention][prefix.node], prefix) for prefix in beam.open]
        scores = np.concatenate([known.log_probs + np.float32(prefix.log_prob) for known, prefix in parts])
        nodes = np.concatenate([known.children for known, _ in parts])
        parents = np.repeat([prefix.node for _, prefix in parts], [len(known.children) for known, _ in parts])
        order = np.argsort(-scores, kind="stable")[:count]
        order = order[np.isfinite(scores[order])]
        rows = zip(nodes[order].tolist(), scores[order].tolist(), parents[order].tolist(), strict=True)
        return [_Prefix(*row) for row in rows]

    def _ends(self, found: Sequence[_Prefix]) -> list[bool]:
        nodes = np.array([each.node for each in found], dtype=np.int64)
        ends: list[bool] = self._explorer.trie.is_leaf(nodes).tolist()
        return ends
