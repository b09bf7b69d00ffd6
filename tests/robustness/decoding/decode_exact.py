"""Compare best-first search with scoring every name of the trie, and measure how often beam 5 misses the best name.

A case is one mention and one ranking, with a random model and a random trie. The best name and the five best names must be the
same as by brute force, and the search must report them as proved optimal.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from benchmarks.report import percent

from onym.methods.generative.decoding.search import Decoded, Ranking, SearchConfig, search_names
from onym.methods.generative.trie.packed import PackedTrie
from tests.robustness.decoding.cases import (
    CLOSE,
    RandomModel,
    Tokens,
    Verdict,
    add_case_options,
    difference,
    judge_cases,
    leaves_of,
    random_model,
    random_names,
    random_texts,
    scores_of,
    trie_of,
)

CASES, QUICK = 10_000, 200
MODELS, NAMES = 40, 2_000
RANKINGS: tuple[Ranking, ...] = ("mean", "sum")
_AT_ONCE = 512  # names that are scored in one batch


def add_options(parser: argparse.ArgumentParser) -> None:
    add_case_options(parser, CASES, QUICK)


def run(options: argparse.Namespace) -> dict[str, object]:
    counts, worst, names = judge_cases(compare, options, CASES, QUICK, per_group=Group.SIZE * len(RANKINGS))
    return {
        "cases": counts["cases"],
        "mismatches": counts["mismatches"],
        "worst_delta": float(f"{worst:.1e}"),
        "max_names": names,
        "beam5_miss_pct": percent(counts["missed"], counts["cases"]),
    }


@dataclass(frozen=True)
class Group:
    """Mentions that are searched in one batch, with one model and one trie."""

    SIZE = 5
    model: RandomModel
    trie: PackedTrie
    sources: list[Tokens]
    prompts: list[Tokens]

    @classmethod
    def random(cls, seed: int) -> Group:
        rng = np.random.default_rng((seed, 3))
        model = random_model(seed % MODELS)
        vocabulary = model.adapter.vocabulary
        names = random_names(rng, vocabulary, int(rng.choice([1, 100])), NAMES)
        trie = trie_of(names, model.adapter.eos, vocabulary)
        sources = random_texts(rng, vocabulary, cls.SIZE, 1, 20)
        prompts = random_texts(rng, vocabulary, cls.SIZE, 0, 5)
        return cls(model, trie, sources, prompts)

    def search(self, config: SearchConfig) -> list[Decoded]:
        return search_names(self.model.start, self.trie, self.sources, self.prompts, config)

    def exact(self, ranking: Ranking, top_k: int) -> list[Decoded]:
        config = SearchConfig("exact", ranking, top_k=top_k, budget=self.trie.node_count + 1, at_once=64, batch=self.SIZE)
        return self.search(config)


def compare(seed: int) -> Verdict:
    group = Group.random(seed)
    counts, worst = Counter({"cases": group.SIZE * len(RANKINGS)}), 0.0
    all_scores = [score_all_names(group, mention) for mention in range(group.SIZE)]
    for ranking in RANKINGS:
        first, five = group.exact(ranking, 1), group.exact(ranking, 5)
        beams = group.search(SearchConfig(ranking=ranking, width=5, batch=group.SIZE))
        for mention, scores in enumerate(all_scores):
            ranked = sorted(((leaf, score.by(ranking)) for leaf, score in scores.items()), key=lambda each: -each[1])
            found = {1: first[mention], 5: five[mention]}
            delta = max(difference(scores_of(each, ranking), ranked, count) for count, each in found.items())
            if np.isfinite(delta) and all(each.is_proved for each in found.values()):
                worst = max(worst, delta)
            else:
                counts["mismatches"] += 1
            counts["missed"] += scores_of(beams[mention], ranking)[0][1] < ranked[0][1] - CLOSE
    return Verdict(counts, worst, len(group.trie.names))


class Score(NamedTuple):
    log_prob: float
    tokens: int

    def by(self, ranking: Ranking) -> float:
        return self.log_prob / self.tokens if ranking == "mean" else self.log_prob


def score_all_names(group: Group, mention: int) -> dict[int, Score]:
    """Return the score of each leaf by teacher forcing its name, with all names padded to one length."""
    adapter, model = group.model.adapter, group.model.model
    before = [adapter.start, *group.prompts[mention]]
    leaves = list(leaves_of(group.trie).items())
    found: dict[int, Score] = {}
    with torch.no_grad():
        encoded = model.get_encoder()(input_ids=torch.tensor([group.sources[mention]])).last_hidden_state
        for begin in range(0, len(leaves), _AT_ONCE):
            part = leaves[begin : begin + _AT_ONCE]
            length = max(len(name) for _, name in part) + 1
            targets = torch.tensor([[*name, adapter.eos, *[adapter.pad] * (length - 1 - len(name))] for _, name in part])
            ids = torch.cat([torch.tensor([before]).expand(len(part), -1), targets[:, :-1]], dim=1)
            states = encoded.expand(len(part), -1, -1)
            logits = model(encoder_outputs=(states,), decoder_input_ids=ids, use_cache=False).logits[:, len(before) - 1 :]
            scores = torch.log_softmax(logits, dim=-1).gather(2, targets[:, :, None])[:, :, 0]
            is_name = torch.arange(length) <= torch.tensor([len(name) for _, name in part])[:, None]
            sums = (scores * is_name).sum(dim=1).tolist()
            found |= {leaf: Score(total, len(name) + 1) for (leaf, name), total in zip(part, sums, strict=True)}
    return found
