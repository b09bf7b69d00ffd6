"""Caches the model's log-probabilities for the trie nodes expanded so far, for each mention of a batch.

A trie node is a unique prefix, so it is expanded only once per mention. Both search algorithms read the nodes expanded so far
and expand further nodes in batches. Scores are kept only for a node's children, but are normalised over the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from onym.methods.generative.decoding.session import Ints, Session
from onym.methods.generative.trie.packed import ROOT, PackedTrie, Restriction

Floats = npt.NDArray[np.float32]
_COMPACT = 0.75  # drop finished mentions from the session when less than this share is still active
_CHEAP = 48  # below this number of rows per pass, additional rows are almost free: reading the weights dominates
_CHUNK = 200_000  # maximum logits to normalise at a time, so that they fit into the CPU cache
_LEAST = -1e30  # lower log-probabilities are replaced by -inf, so that the sum over a name does not overflow


class Known(NamedTuple):
    """An expanded node: the session slot of its token, its children, and their log-probabilities."""

    slot: int
    children: Ints
    log_probs: Floats


class NodeRequest(NamedTuple):
    """A request to expand a node; its parent must already be expanded."""

    mention: int
    node: int
    parent: int


class Explorer:
    """Expands nodes of the trie with the model. `widest` is the number of best children kept per node; None keeps all.

    In a pass with few rows, additional rows cost almost nothing, so up to `chain` tokens of an unbranched path are read ahead.
    """

    def __init__(
        self,
        session: Session,
        trie: PackedTrie,
        prompts: Sequence[Sequence[int]],
        *,
        restriction: Restriction | None = None,
        widest: int | None = None,
        chain: int = 0,
    ) -> None:
        self.known: list[dict[int, Known]] = [{} for _ in prompts]
        self.expansions = np.zeros(len(prompts), dtype=np.int64)
        self.trie = trie
        self._session = session
        self._restriction = restriction
        self._widest = widest
        self._chain = chain
        self._rows = np.arange(len(prompts))  # session row of each mention; -1 if the mention was dropped
        self._begin(prompts)

    def ask(self, requests: Sequence[NodeRequest]) -> None:
        """Expand nodes. Requests must be sorted by mention, and the parents of their nodes already expanded."""
        if not requests:
            return
        rows = self._with_chains(requests)
        owners = self._rows[rows.mentions]
        slots, logits = self._session.read(owners, rows.parents, self.trie.tokens[rows.nodes].astype(np.int64), rows.waves)
        self._learn(rows.mentions, rows.nodes, slots, logits)

    def keep(self, mentions: Sequence[int]) -> None:
        """Keep only these mentions (sorted) in the session, if that drops enough of them; expanded nodes stay in `known`."""
        if len(mentions) >= _COMPACT * np.count_nonzero(self._rows >= 0):
            return
        kept = np.asarray(mentions)
        self._session.keep(self._rows[kept])
        self._rows[:] = -1
        self._rows[kept] = np.arange(len(kept))

    def _begin(self, prompts: Sequence[Sequence[int]]) -> None:
        slots, logits = self._session.begin(prompts)
        tokens, nodes = self.trie.children(ROOT)
        if self._restriction is not None:
            is_allowed = self._restriction.allows(nodes)
            tokens, nodes = tokens[is_allowed], nodes[is_allowed]
        found = _log_probs_at(logits, torch.from_numpy(tokens.astype(np.int64)))
        for mention, slot in enumerate(slots):
            self._note(mention, ROOT, int(slot), nodes, found[mention])
        self.expansions += 1

    def _with_chains(self, requests: Sequence[NodeRequest]) -> _DecoderRows:
        trie = self.trie
        chain = min(self._chain, (_CHEAP - len(requests)) // len(requests))
        mentions, nodes, parents, waves = [], [], [], []
        for mention, node, parent in requests:
            mentions.append(mention)
            nodes.append(node)
            parents.append(self.known[mention][parent].slot)
            waves.append(0)
            below = node
            for wave in range(1, chain + 1):
                start, end = trie.span(below)
                if end - start != 1 or trie.span(start)[0] == trie.span(start)[1]:
                    break  # stop at a branch or at the end of a name
                below = start
                if below in self.known[mention]:
                    break
                mentions.append(mention)
                parents.append(-len(nodes))  # -1 - (index of the previous row), see `Session.read`
                nodes.append(below)
                waves.append(wave)
        return _DecoderRows(*(np.array(column, dtype=np.int64) for column in (mentions, nodes, parents, waves)))

    def _learn(self, mentions: Ints, nodes: Ints, slots: Ints, logits: Tensor) -> None:
        rows, tokens, children = self.trie.children_of(nodes)
        if self._restriction is not None:
            is_allowed = self._restriction.allows(children)
            rows, tokens, children = rows[is_allowed], tokens[is_allowed], children[is_allowed]
        found = token_log_probs(logits, torch.from_numpy(rows), torch.from_numpy(tokens.astype(np.int64)))
        ends = np.searchsorted(rows, np.arange(1, len(nodes) + 1)).tolist()
        start = 0
        for mention, node, slot, end in zip(mentions.tolist(), nodes.tolist(), slots.tolist(), ends, strict=True):
            self._note(mention, node, slot, children[start:end], found[start:end])
            start = end
        np.add.at(self.expansions, mentions, 1)

    def _note(self, mention: int, node: int, slot: int, children: Ints, log_probs: Floats) -> None:
        if self._widest is not None and len(children) > self._widest:
            kept = np.argpartition(-log_probs, self._widest - 1)[: self._widest]
            children, log_probs = children[kept], log_probs[kept]
        self.known[mention][node] = Known(slot, children, log_probs)


class _DecoderRows(NamedTuple):
    mentions: Ints
    nodes: Ints
    parents: Ints
    waves: Ints


def token_log_probs(logits: Tensor, rows: Tensor, tokens: Tensor) -> Floats:
    """Return the log-probability of `tokens[i]` by the logits in row `rows[i]`, for each i."""
    rows, tokens = rows.to(logits.device), tokens.to(logits.device)
    return _plain(logits[rows, tokens].float() - _normaliser(logits)[rows])


def _log_probs_at(logits: Tensor, tokens: Tensor) -> Floats:
    """Return the log-probabilities of the same tokens by every row of logits. *Shape:* (rows, tokens)."""
    return _plain(logits[:, tokens.to(logits.device)].float() - _normaliser(logits)[:, None])


def _normaliser(logits: Tensor) -> Tensor:
    rows = max(1, _CHUNK // logits.shape[-1])
    return torch.cat([torch.logsumexp(part.float(), dim=-1) for part in torch.split(logits, rows)])


def _plain(log_probs: Tensor) -> Floats:
    """Convert log-probabilities to NumPy. Values above 0 become 0; NaN, infinite and very low values become -inf."""
    is_said = (log_probs > _LEAST) & (log_probs < torch.inf)
    found: npt.NDArray[Any] = log_probs.clamp(max=0.0).masked_fill(~is_said, -torch.inf).cpu().numpy()
    return found
