"""Shared code of the decoding suites: small random models with sufficiently spread logits, random tries, and workers."""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.adapters.base import Adapter
from onym.methods.generative.decoding.search import Decoded, Ranking
from onym.methods.generative.decoding.session import TreeSession
from onym.methods.generative.trie.packed import PackedTrie
from onym.store.arrays import Ragged

Tokens = list[int]
Generator = np.random.Generator
Job = TypeVar("Job")
Found = TypeVar("Found")

SPREAD = 1.0
"""Of the logits of a model, the least standard deviation: where all tokens are alike, a search has nothing to go by.

They have up to twice as much: rounding errors of single precision grow with it."""
CLOSE = 1e-4
"""Scores that are nearer to each other than this may change places."""
WORDS = 3
"""The first token that a name may hold; those before it are special in both families."""


@dataclass(frozen=True)
class RandomModel:
    """A small transformers model with random weights, and its adapter."""

    model: Any
    adapter: Adapter

    def start(self, sources: Sequence[Sequence[int]]) -> TreeSession:
        return TreeSession(self.adapter, sources)


@lru_cache(maxsize=64)
def random_model(seed: int, dtype: torch.dtype = torch.float32) -> RandomModel:
    """Return a model with at most 500 tokens: the variants of BART and T5 in turn."""
    rng = np.random.default_rng((seed, 1))
    torch.manual_seed(seed)
    model = _bart(rng) if seed % 2 else _t5(rng)
    model.eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn_like(weights) * ((0.3 if seed % 2 else 0.15) if weights.dim() > 1 else 0.05))
        _spread(model)
    model = model.to(dtype)
    return RandomModel(model, adapter_of(model))


def _bart(rng: Generator) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    heads, layers = int(rng.choice([1, 2, 4])), rng.integers(1, 3, 2).tolist()
    config = BartConfig(
        vocab_size=_vocabulary(rng),
        d_model=16,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        scale_embedding=bool(rng.integers(2)),
    )
    return BartForConditionalGeneration(config)


def _t5(rng: Generator) -> Any:
    from transformers import T5Config, T5ForConditionalGeneration

    is_gated = bool(rng.integers(2))
    config = T5Config(
        vocab_size=_vocabulary(rng),
        d_model=16,
        d_kv=int(rng.choice([4, 8])),
        d_ff=16,
        num_layers=int(rng.integers(1, 3)),
        num_heads=2,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=16,
        feed_forward_proj="gated-gelu" if is_gated else "relu",
        tie_word_embeddings=not is_gated,
        decoder_start_token_id=0,
    )
    return T5ForConditionalGeneration(config)


def _vocabulary(rng: Generator) -> int:
    return round(float(np.exp(rng.uniform(np.log(12), np.log(500)))))


def _spread(model: Any) -> None:
    """Scale the output vectors until the logits have the target standard deviation."""
    for _ in range(50):
        found = spread(model)
        if SPREAD <= found <= 2 * SPREAD:
            return
        model.lm_head.weight.mul_((1.5 * SPREAD / found) ** 0.7)
    raise AssertionError(f"the logits of a model have a standard deviation of {spread(model):.2f}")


def spread(model: Any) -> float:
    """Return the standard deviation of the logits at a position, averaged over positions."""
    ids = torch.randint(WORDS, model.config.vocab_size, (8, 6), generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        return float(model(input_ids=ids, decoder_input_ids=ids).logits.std(dim=-1).mean())


def random_names(rng: Generator, vocabulary: int, min_names: int, max_names: int, max_tokens: int = 7) -> list[Tokens]:
    """Return token sequences as names: some share a prefix, some are prefixes of others, some are duplicates."""
    count = 1 if rng.random() < 0.05 else round(float(np.exp(rng.uniform(np.log(min_names), np.log(max_names)))))
    alphabet = rng.permutation(np.arange(WORDS, vocabulary))[: int(rng.integers(2, max(3, vocabulary - WORDS + 1)))]
    names: list[Tokens] = []
    for _ in range(count):
        kind, new = rng.random(), rng.choice(alphabet, size=int(rng.integers(1, max_tokens + 1))).tolist()
        other = names[int(rng.integers(len(names)))] if names else new
        if kind < 0.05:
            new = list(other)
        elif kind < 0.15:
            new = other[: int(rng.integers(1, len(other) + 1))]
        elif kind < 0.5:
            new = [*other[: int(rng.integers(1, len(other) + 1))], *new][:max_tokens]
        names.append(new)
    return names


def trie_of(names: Sequence[Sequence[int]], eos: int, vocabulary: int) -> PackedTrie:
    offsets = np.concatenate(([0], np.cumsum([len(name) for name in names], dtype=np.int64)))
    values = np.array([token for name in names for token in name], dtype=np.int32)
    return PackedTrie.build(Ragged(offsets.astype(np.int64), values), eos, vocabulary)


def leaves_of(trie: PackedTrie) -> dict[int, tuple[int, ...]]:
    """Return the tokens of every name by leaf, by walking from the root."""
    found: dict[int, tuple[int, ...]] = {}
    waiting: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    while waiting:
        node, path = waiting.pop()
        tokens, nodes = trie.children(node)
        if len(nodes) == 0:
            found[node] = path[:-1]
        waiting += [(child, (*path, token)) for token, child in zip(tokens.tolist(), nodes.tolist(), strict=True)]
    return found


def random_texts(rng: Generator, vocabulary: int, count: int, min_tokens: int, max_tokens: int) -> list[Tokens]:
    return [rng.integers(WORDS, vocabulary, int(rng.integers(min_tokens, max_tokens + 1))).tolist() for _ in range(count)]


def scores_of(decoded: Decoded, ranking: Ranking) -> list[tuple[int, float]]:
    return [(each.leaf, each.score(ranking)) for each in decoded.hypotheses]


def difference(found: list[tuple[int, float]], ranked: list[tuple[int, float]], count: int) -> float:
    """Return the largest score difference between a search and the best `count` names; infinite if the names differ.

    Names with nearly equal scores are interchangeable, even if one of them is just below the cut-off.

    >>> difference([(2, -1.0), (1, -1.0)], [(1, -1.0), (2, -1.00001)], 2) < CLOSE
    True
    >>> difference([(3, -1.0)], [(1, -1.0), (2, -1.5)], 1), difference([(3, -1.0)], [(1, -1.0)], 5)
    (0.0, inf)
    """
    wanted = ranked[:count]
    if len(found) != len(wanted) or len({leaf for leaf, _ in found}) != len(found):
        return np.inf
    worst = max((abs(mine - right) for (_, mine), (_, right) in zip(found, wanted, strict=True)), default=0.0)
    # Score of a name that is not in `ranked`, which may have been cut off.
    last = wanted[-1][1] if len(wanted) == count else -np.inf
    rights = dict(ranked)
    is_right = worst < CLOSE and all(abs(rights.get(leaf, last) - score) < CLOSE for leaf, score in found)
    return float(worst) if is_right else np.inf


def spread_over(work: Callable[[Job], Found], jobs: Iterable[Job], workers: int = 2) -> Iterator[Found]:
    """Run jobs in single-threaded processes, in any order."""
    with multiprocessing.get_context("spawn").Pool(workers, torch.set_num_threads, (1,)) as pool:
        yield from pool.imap_unordered(work, jobs)


class Verdict(NamedTuple):
    """Results of some cases: counts by outcome, the largest score difference, and the size of the largest trie."""

    counts: Counter[str]
    worst: float
    names: int = 0


def judge_cases(
    compare: Callable[[int], Verdict], options: argparse.Namespace, cases: int, quick: int, *, per_group: int
) -> Verdict:
    """Compare the number of cases given by the options, one group per seed, and return the combined result."""
    wanted = options.cases or (quick if options.quick else cases)
    verdicts = list(spread_over(compare, range(-(-wanted // per_group)), options.workers))
    counts: Counter[str] = sum((verdict.counts for verdict in verdicts), Counter())
    return Verdict(counts, max(verdict.worst for verdict in verdicts), max(verdict.names for verdict in verdicts))


def add_case_options(parser: argparse.ArgumentParser, cases: int, quick: int) -> None:
    """Add the options for the numbers of cases and processes."""
    parser.add_argument("--cases", type=int, help=f"number of mentions (default: {cases:,}, or {quick} with --quick)")
    parser.add_argument("--workers", type=int, default=2)
