"""Searching any number of mentions: in batches of like length, by beam or exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from onym.decoding.beam import BeamSearch, Stopping
from onym.decoding.exact import ExactSearch
from onym.decoding.explorer import Explorer
from onym.decoding.results import Decoded, Ranking
from onym.decoding.session import Session
from onym.encoders.threads import fix_thread_count, single_core_workers
from onym.trie.packed import PackedTrie
from onym.trie.restriction import Restriction

Tokens = Sequence[int]
Start = Callable[[Sequence[Tokens]], Session]
"""Opens a session for a batch of sources."""


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How to search. `width` is that of the beam, and `top_k` how many names come back, at most `width` of a beam.

    `chain` is how many tokens of a path without branches are read ahead, where a pass costs more than its rows.
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
    """Return the best names for each source; mentions of like length are decoded together, and come back in their order.

    Several batches run side by side, each on one core: that takes less time than all cores on one batch after the other.
    """
    order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), len(prompts[i])), reverse=True)
    batches = [order[begin : begin + config.batch] for begin in range(0, len(order), config.batch)]

    def decode(batch: list[int]) -> list[Decoded]:
        session = start([sources[i] for i in batch])
        return _decoded(session, trie, [prompts[i] for i in batch], config, restriction)

    decoded = _side_by_side(decode, batches)
    found = {i: each for batch, answers in zip(batches, decoded, strict=True) for i, each in zip(batch, answers, strict=True)}
    return [found[i] for i in range(len(sources))]


def _side_by_side(decode: Callable[[list[int]], list[Decoded]], batches: list[list[int]]) -> list[list[Decoded]]:
    cores = fix_thread_count()
    if cores == 1 or len(batches) < cores:
        return [decode(batch) for batch in batches]
    return list(single_core_workers(cores).map(decode, batches))


def _decoded(
    session: Session, trie: PackedTrie, prompts: Sequence[Tokens], config: SearchConfig, restriction: Restriction | None
) -> list[Decoded]:
    widest = 2 * config.width if config.search == "beam" else None
    explorer = Explorer(session, trie, prompts, restriction=restriction, widest=widest, chain=config.chain)
    if config.search == "exact":
        limits = {"budget": config.budget, "at_once": config.at_once}
        return ExactSearch(explorer, config.top_k, ranking=config.ranking, **limits).run()
    found = BeamSearch(explorer, config.width, ranking=config.ranking, stopping=config.stopping).run()
    return [replace(each, hypotheses=each.hypotheses[: config.top_k]) for each in found]
