"""Run a million searches with random and invalid logits, and some with bf16 models, and check that all results are names."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from onym.methods.generative.decoding.search import Decoded, SearchConfig, Start, search_names
from onym.methods.generative.decoding.session import Ints
from onym.methods.generative.trie.packed import PackedTrie, Restriction
from tests.robustness.decoding.cases import (
    Generator,
    Tokens,
    leaves_of,
    random_model,
    random_names,
    random_texts,
    spread_over,
    trie_of,
)

DECODES, QUICK = 1_000_000, 20_000
MODEL_DECODES, MODEL_QUICK = 20_000, 400
AT_ONCE = {False: 2_000, True: 100}  # searches per job, with random logits and with real models
MODELS = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--decodes", type=int, help=f"searches over random logits ({DECODES:,}, or {QUICK:,} with --quick)")
    parser.add_argument("--model-decodes", type=int, help=f"model searches ({MODEL_DECODES:,}, or {MODEL_QUICK} with --quick)")
    parser.add_argument("--workers", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, object]:
    decodes = options.decodes or (QUICK if options.quick else DECODES)
    of_models = options.model_decodes or (MODEL_QUICK if options.quick else MODEL_DECODES)
    jobs = [Job(seed, has_model=False) for seed in range(-(-decodes // AT_ONCE[False]))]
    jobs += [Job(seed, has_model=True) for seed in range(-(-of_models // AT_ONCE[True]))]
    counts: Counter[str] = Counter()
    for found in spread_over(search, jobs, options.workers):
        counts.update(found)
    names = ("decodes", "model_decodes", "hypotheses", "restricted", "nameless", "outside", "malformed")
    return {name: counts[name] for name in names}


class Job(NamedTuple):
    seed: int
    has_model: bool


class DrawnSession:
    """A fake model with arbitrary logits: sensible, huge, all equal, and NaN."""

    def __init__(self, vocabulary: int, mentions: int, generator: torch.Generator) -> None:
        self.vocabulary = vocabulary
        self._mentions = mentions
        self._used = 0
        self._generator = generator

    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[Ints, Tensor]:
        if len(prompts) != self._mentions:
            raise AssertionError("the number of prompts differs from the number of mentions")
        return self._read(len(prompts))

    def read(self, owners: Ints, parents: Ints, tokens: Ints, wave: Ints) -> tuple[Ints, Tensor]:
        before = -1 - parents[wave > 0]
        is_right = len(owners) == len(parents) == len(tokens) == len(wave) and bool((np.diff(owners) >= 0).all())
        is_right = is_right and 0 <= int(owners.min()) <= int(owners.max()) < self._mentions
        is_right = is_right and bool((parents[wave == 0] >= 0).all()) and int(parents.max()) < self._used
        if not is_right or bool((wave[before] != wave[wave > 0] - 1).any()):
            raise AssertionError("the search sent an invalid request to the session")
        return self._read(len(owners))

    def keep(self, mentions: Ints) -> None:
        if not len(mentions) or not 0 <= int(mentions.min()) <= int(mentions.max()) < self._mentions:
            raise AssertionError("the search asked the session to keep mentions that are not in it")
        self._mentions = len(mentions)

    def _read(self, rows: int) -> tuple[Ints, Tensor]:
        self._used += rows
        return np.arange(self._used - rows, self._used), draw_logits(rows, self.vocabulary, self._generator)


def draw_logits(rows: int, vocabulary: int, generator: torch.Generator) -> Tensor:
    logits = torch.randn(rows, vocabulary, generator=generator)
    kinds = torch.randint(0, 40, (rows,), generator=generator)
    for kind, scale in ((0, 0.0), (1, 1e30), (2, 1e-30), (3, 3e38), (4, 30.0)):
        logits[kinds == kind] *= scale
    for kind, value in ((5, -torch.inf), (6, torch.inf), (7, torch.nan)):
        logits[kinds == kind] = value
    chances = torch.rand(rows, vocabulary, generator=generator)
    for kind, value in ((8, -torch.inf), (9, torch.inf), (10, torch.nan), (11, 1e30), (12, -1e30)):
        logits[(kinds == kind)[:, None] & (chances < 0.3)] = value
    return logits


@dataclass(frozen=True)
class Book:
    """The valid results, computed without the search: the tokens and names of each leaf."""

    trie: PackedTrie
    lengths: dict[int, int]
    names: dict[int, set[int]]
    outside: int
    """Leaves that are none of the names, or not with their ids."""

    @classmethod
    def of(cls, names: Sequence[Tokens], eos: int, vocabulary: int) -> Book:
        wanted: dict[tuple[int, ...], set[int]] = {}
        for number, name in enumerate(names):
            wanted.setdefault(tuple(name), set()).add(number)
        trie = trie_of(names, eos, vocabulary)
        found = leaves_of(trie)
        outside = sum(set(trie.names_at(leaf).tolist()) != wanted.get(name) for leaf, name in found.items())
        right = {leaf: name for leaf, name in found.items() if name in wanted}
        lengths = {leaf: len(name) + 1 for leaf, name in right.items()}
        return cls(trie, lengths, {leaf: wanted[name] for leaf, name in right.items()}, outside)


def search(job: Job) -> Counter[str]:
    rng = np.random.default_rng((job.seed, 4 + job.has_model))
    model = random_model(job.seed % MODELS, torch.bfloat16) if job.has_model else None
    vocabulary, eos = (model.adapter.vocabulary, model.adapter.eos) if model else (int(rng.integers(6, 24)), 2)
    names = random_names(rng, vocabulary, 1, 60, max_tokens=5)
    book = Book.of(names, eos, vocabulary)
    count = AT_ONCE[job.has_model]
    config = _config(rng, max_batch=64 if job.has_model else 512)
    is_wanted = rng.random(len(names)) < rng.choice([0.1, 0.5]) if rng.random() < 0.4 else np.ones(len(names), dtype=bool)
    restriction = None if is_wanted.all() else book.trie.restriction(is_wanted)
    if model:
        start: Start = model.start
        sources, prompts = random_texts(rng, vocabulary, count, 1, 12), random_texts(rng, vocabulary, count, 0, 4)
    else:
        start, sources, prompts = _draw_start(vocabulary, job.seed), [[3]] * count, [[]] * count
    decoded = search_names(start, book.trie, sources, prompts, config, restriction=restriction)
    allowed = {leaf for leaf, ids in book.names.items() if any(is_wanted[name] for name in ids)}
    counts = Counter({"model_decodes" if job.has_model else "decodes": len(decoded), "outside": book.outside})
    counts["restricted"] = len(decoded) * (restriction is not None)
    counts.update(_judge_answers(decoded, book, allowed, restriction, config))
    return counts


def _draw_start(vocabulary: int, seed: int) -> Start:
    generator = torch.Generator().manual_seed(seed)

    def start(sources: Sequence[Sequence[int]]) -> DrawnSession:
        return DrawnSession(vocabulary, len(sources), generator)

    return start


def _config(rng: Generator, max_batch: int) -> SearchConfig:
    width = int(rng.choice([1, 2, 5, 10]))
    return SearchConfig(
        search="exact" if rng.random() < 0.3 else "beam",
        ranking="mean" if rng.random() < 0.5 else "sum",
        width=width,
        top_k=int(rng.choice([1, 5])),
        stopping="fairseq" if rng.random() < 0.5 else "transformers",
        budget=int(rng.choice([1, 3, 20, 1000])),
        at_once=int(rng.choice([1, 8])),
        # Mostly large batches, because small ones are slow.
        batch=int(rng.choice([1, 7, max_batch // 8, max_batch], p=[0.02, 0.08, 0.2, 0.7])),
        chain=int(rng.choice([0, 8])),
    )


def _judge_answers(
    decoded: Sequence[Decoded], book: Book, allowed: set[int], restriction: Restriction | None, config: SearchConfig
) -> Counter[str]:
    outside = malformed = nameless = hypotheses = 0
    limit = config.top_k if config.search == "exact" else min(config.top_k, config.width)
    for each in decoded:
        found = each.hypotheses
        leaves = [one.leaf for one in found]
        nameless += not found
        hypotheses += len(found)
        outside += not allowed.issuperset(leaves)
        is_sound = len(found) <= limit and len(set(leaves)) == len(leaves)
        is_sound = is_sound and all(one.tokens == book.lengths.get(one.leaf) and -np.inf < one.log_prob <= 0 for one in found)
        scores = [one.score(config.ranking) for one in found]
        malformed += not (is_sound and scores == sorted(scores, reverse=True))
        if restriction is not None:
            outside += any(len(restriction.names_at(leaf)) == 0 for leaf in leaves)
    return Counter(outside=outside, malformed=malformed, nameless=nameless, hypotheses=hypotheses)
