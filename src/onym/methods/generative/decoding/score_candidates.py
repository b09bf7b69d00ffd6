"""Scores a list of candidate names for each mention with the decoder, all names in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from onym.methods.generative.decoding.explorer import token_log_probs
from onym.methods.generative.decoding.search import Ranking, Start, Tokens
from onym.methods.generative.decoding.session import Session

_ROWS = 256  # maximum tokens per pass, because each token needs logits for the whole vocabulary
_TOP = -1  # used as the parent of the first token of a name


@dataclass(frozen=True, slots=True)
class ScoredName:
    """The log-probability of a name and its number of tokens, both including the end token.

    >>> ScoredName(-3.0, 2).score("mean"), ScoredName(-3.0, 2).score("sum")
    (-1.5, -3.0)
    """

    log_prob: float
    tokens: int

    def score(self, ranking: Ranking) -> float:
        """Return the score: mean or sum of the token log-probabilities."""
        return self.log_prob / self.tokens if ranking == "mean" else self.log_prob


def score_candidates(
    start: Start, sources: Sequence[Tokens], prompts: Sequence[Tokens], names: Sequence[Sequence[Tokens]], *, eos: int
) -> list[list[ScoredName]]:
    """Return the scores of each source's names, in order; names are given as tokens without the end token.

    The names of a mention form a small prefix tree, so common prefixes are computed once.
    """
    trees = [_Tree.of(each) for each in names]
    found: list[list[ScoredName]] = [[] for _ in sources]
    order = sorted(range(len(sources)), key=lambda row: len(sources[row]), reverse=True)  # similar lengths need less padding
    for batch in _batches(order, trees):
        together = [trees[row] for row in batch]
        scored = _read(start([sources[row] for row in batch]), [prompts[row] for row in batch], together, eos)
        for row, each in zip(batch, scored, strict=True):
            found[row] = each
    return found


@dataclass(slots=True)
class _Tree:
    """A prefix tree of the names of one mention; `ends` are the nodes of the last tokens."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, names: Sequence[Tokens]) -> _Tree:
        tree = cls()
        known: dict[tuple[int, int], int] = {}
        for name in names:
            node = _TOP
            for depth, token in enumerate(map(int, name)):
                key = node, token
                if key not in known:
                    known[key] = len(tree.tokens)
                    tree.tokens.append(token)
                    tree.parents.append(node)
                    tree.depths.append(depth)
                node = known[key]
            tree.ends.append(node)
        return tree


def _batches(order: Sequence[int], trees: Sequence[_Tree]) -> Iterator[list[int]]:
    """Yield batches of tree indices; trees without names are skipped."""
    batch: list[int] = []
    rows = 0
    for row in order:
        if not trees[row].ends:
            continue
        if batch and rows + len(trees[row].tokens) > _ROWS:
            yield batch
            batch, rows = [], 0
        batch.append(row)
        rows += len(trees[row].tokens) + 1
    if batch:
        yield batch


def _read(session: Session, prompts: Sequence[Tokens], trees: Sequence[_Tree], eos: int) -> list[list[ScoredName]]:
    """Run the trees of a batch through the decoder, and return the scores of their names."""
    slots, logits = session.begin(prompts)
    sizes = [len(tree.tokens) for tree in trees]
    before = np.cumsum([0, *sizes])  # offset of each tree's rows
    owners = np.repeat(np.arange(len(trees)), sizes)
    nodes = np.array([parent for tree in trees for parent in tree.parents], dtype=np.int64)
    tokens = np.array([token for tree in trees for token in tree.tokens], dtype=np.int64)
    waves = np.array([depth for tree in trees for depth in tree.depths], dtype=np.int64)
    above = nodes + before[owners]
    if len(tokens):
        parents = np.where(nodes == _TOP, slots[owners], -1 - above)
        logits = torch.cat([logits, session.read(owners, parents, tokens, waves)[1]])
    # The first len(trees) rows of logits are those after the prompts; then come the logits after each token.
    rows = np.where(nodes == _TOP, owners, len(trees) + above)
    ends = [
        (owner if end == _TOP else len(trees) + int(before[owner]) + end)
        for owner, tree in enumerate(trees)
        for end in tree.ends
    ]
    scored_rows = np.concatenate([rows, np.array(ends, dtype=np.int64)])
    wanted = np.concatenate([tokens, np.full(len(ends), eos)])
    log_probs = token_log_probs(logits, torch.from_numpy(scored_rows), torch.from_numpy(wanted)).tolist()
    return _sum_along_names(trees, log_probs[: len(tokens)], log_probs[len(tokens) :])


def _sum_along_names(trees: Sequence[_Tree], of_tokens: Sequence[float], of_ends: Sequence[float]) -> list[list[ScoredName]]:
    """Sum the token log-probabilities along each name."""
    token, end = iter(of_tokens), iter(of_ends)
    found = []
    for tree in trees:
        sums: list[float] = []
        for parent in tree.parents:
            sums.append(next(token) + (sums[parent] if parent != _TOP else 0.0))
        found.append(
            [
                ScoredName(next(end), 1) if last == _TOP else ScoredName(sums[last] + next(end), tree.depths[last] + 2)
                for last in tree.ends
            ]
        )
    return found
