"""Compare beam search with transformers' `generate` and with a simple version of fairseq's: names and scores must be equal.

A case is one mention, with a random model and a random trie. The reference decodes the mention alone. Onym decodes it four
times, in padded batches of different sizes, twice with and twice without reading ahead. All results must be the same.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from onym.methods.generative.decoding.search import Ranking, SearchConfig, Stopping, search_names
from onym.methods.generative.trie.packed import ROOT, PackedTrie
from tests.robustness.decoding.cases import (
    RandomModel,
    Tokens,
    Verdict,
    add_case_options,
    difference,
    judge_cases,
    random_model,
    random_names,
    random_texts,
    scores_of,
    trie_of,
)

CASES, QUICK = 10_000, 300
MODELS = 40
BATCHES, CHAINS = (1, 2, 7, 32), (0, 8)
TIED = 1e-5
"""Prefixes whose scores are nearer than this may be cut off one for the other."""
_DEAD = -1e6  # transformers gives scores below this to beams that have left the trie
Ranked = list[tuple[int, float]]


def add_options(parser: argparse.ArgumentParser) -> None:
    add_case_options(parser, CASES, QUICK)


def run(options: argparse.Namespace) -> dict[str, object]:
    counts, worst, _ = judge_cases(compare, options, CASES, QUICK, per_group=Group.SIZE)
    return {
        "cases": counts["cases"],
        "fairseq_cases": counts["fairseq"],
        "mismatches": counts["mismatches"],
        "ties": counts["ties"],
        "worst_delta": float(f"{worst:.1e}"),
    }


@dataclass(frozen=True)
class Group:
    """Mentions that are searched in one batch, with one model, one trie and one search method."""

    SIZE = 10
    model: RandomModel
    trie: PackedTrie
    sources: list[Tokens]
    prompts: list[Tokens]
    width: int
    ranking: Ranking
    stopping: Stopping

    @classmethod
    def random(cls, seed: int) -> Group:
        rng = np.random.default_rng((seed, 2))
        model = random_model(seed % MODELS)
        vocabulary = model.adapter.vocabulary
        names = random_names(rng, vocabulary, 1, 200)
        sources = random_texts(rng, vocabulary, cls.SIZE, 1, 20)
        has_prompt = rng.random() < 0.7
        prompts = random_texts(rng, vocabulary, cls.SIZE, 0, 5) if has_prompt else [[]] * cls.SIZE
        return cls(
            model,
            trie_of(names, model.adapter.eos, vocabulary),
            sources,
            prompts,
            int(rng.choice([5, 10])),
            "mean" if rng.random() < 0.6 else "sum",
            "fairseq" if rng.random() < 0.3 else "transformers",
        )

    def find_names(self, batch: int, chain: int) -> list[Ranked]:
        """Return Onym's results."""
        config = SearchConfig(
            ranking=self.ranking, width=self.width, top_k=self.width, stopping=self.stopping, batch=batch, chain=chain
        )
        # If a batch is larger than the group, the group is repeated and only the first answers are used.
        times = -(-batch // self.SIZE)
        decoded = search_names(self.model.start, self.trie, self.sources * times, self.prompts * times, config)
        return [scores_of(each, self.ranking) for each in decoded[: self.SIZE]]

    def expect_names(self, mention: int) -> Ranked:
        if self.stopping == "fairseq":
            return Reference(self, mention).run()
        return generate_names(self, mention)


def compare(seed: int) -> Verdict:
    group = Group.random(seed)
    found = [group.find_names(batch, CHAINS[(seed + turn) % 2]) for turn, batch in enumerate(BATCHES)]
    counts, worst = Counter({"cases": group.SIZE, "fairseq": group.SIZE * (group.stopping == "fairseq")}), 0.0
    for mention in range(group.SIZE):
        wanted = group.expect_names(mention)
        delta = max(difference(each[mention], wanted, group.width) for each in found)
        if np.isfinite(delta):
            worst = max(worst, delta)
        else:
            reference = Reference(group, mention)
            reference.run()
            counts["ties" if reference.closest < TIED else "mismatches"] += 1
    return Verdict(counts, worst)


def generate_names(group: Group, mention: int) -> Ranked:
    """Return transformers' result for one mention, without the beams that left the trie."""
    adapter, trie = group.model.adapter, group.trie
    before = [adapter.start, *group.prompts[mention]]
    found = group.model.model.generate(
        input_ids=torch.tensor([group.sources[mention]]),
        attention_mask=torch.ones(1, len(group.sources[mention]), dtype=torch.long),
        decoder_input_ids=torch.tensor([before]),
        prefix_allowed_tokens_fn=constrain_to(trie, len(before)),
        num_beams=group.width,
        num_return_sequences=group.width,
        max_length=len(before) + int(trie.height[ROOT]) + 2,
        length_penalty=1.0 if group.ranking == "mean" else 0.0,
        early_stopping=False,
        no_repeat_ngram_size=0,
        forced_bos_token_id=None,
        forced_eos_token_id=None,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
    )
    ranked = []
    for sequence, score in zip(found.sequences.tolist(), found.sequences_scores.tolist(), strict=True):
        name = sequence[len(before) :]
        leaf = trie.find(name[: name.index(trie.eos)] if trie.eos in name else name)
        if score > _DEAD and leaf >= 0:
            ranked.append((leaf, score))
    return ranked


def constrain_to(trie: PackedTrie, skipped: int) -> Callable[[int, torch.Tensor], list[int]]:
    """Return the allowed next tokens. A beam that has left the trie, or has ended, may only get the end token."""

    def allow_tokens(_batch: int, ids: torch.Tensor) -> list[int]:
        node = ROOT
        for token in ids[skipped:].tolist():
            node = trie.child(node, token)
            if node < 0:
                return [trie.eos]
        return trie.children(node)[0].tolist() or [trie.eos]

    return allow_tokens


class Reference:
    """A simple beam search: no cache, no batches, double precision, with the rules of transformers or fairseq.

    `closest` is the smallest margin by which a prefix was kept, or the decision to stop was made.
    """

    def __init__(self, group: Group, mention: int) -> None:
        self.group = group
        self.closest = np.inf
        self._prompt = [group.model.adapter.start, *group.prompts[mention]]
        self._model = double(group.model)
        with torch.no_grad():
            self._encoded = self._model.get_encoder()(input_ids=torch.tensor([group.sources[mention]])).last_hidden_state

    def run(self) -> Ranked:
        width = self.group.width
        beams: list[tuple[float, Tokens]] = [(0.0, [])]
        names: list[tuple[float, Tokens]] = []
        is_done = False
        while beams and not is_done:
            found = sorted((each for beam in beams for each in self._extend_beam(*beam)), reverse=True)
            beams, names, is_done = (self._fairseq if self.group.stopping == "fairseq" else self._transformers)(found, names)
        return sorted(((self.group.trie.find(name), score) for score, name in names), key=lambda e: -e[1])[:width]

    def _fairseq(
        self, found: list[tuple[float, Tokens]], names: list[tuple[float, Tokens]]
    ) -> tuple[list[tuple[float, Tokens]], list[tuple[float, Tokens]], bool]:
        """Of the k best continuations, take the finished names in order and continue with the others."""
        width = self.group.width
        self._note_cut([score for score, _ in found], width)
        ended = [each for each in found[:width] if self._is_end(each)]
        self._note_cut([score for score, _ in ended], width - len(names))
        names = [*names, *((self._score(*each), each[1][:-1]) for each in ended)][:width]
        return [each for each in found[:width] if not self._is_end(each)], names, len(names) >= width

    def _transformers(
        self, found: list[tuple[float, Tokens]], names: list[tuple[float, Tokens]]
    ) -> tuple[list[tuple[float, Tokens]], list[tuple[float, Tokens]], bool]:
        """Of the 2k best continuations, continue with the k best unfinished ones; take finished names among the first k."""
        width = self.group.width
        self._note_cut([score for score, _ in found], width)
        self._note_cut([score for score, _ in found], 2 * width)
        ended = [(self._score(*each), each[1][:-1]) for each in found[:width] if self._is_end(each)]
        ranked = sorted([*names, *ended], reverse=True)
        self._note_cut([score for score, _ in ranked], width)
        names = ranked[:width]
        onward = [each for each in found[: 2 * width] if not self._is_end(each)]
        self._note_cut([score for score, _ in onward], width)
        if len(names) < width or not onward:
            return onward[:width], names, False
        best = self._score(*onward[0])
        self.closest = min(self.closest, abs(best - names[-1][0]))
        return onward[:width], names, best <= names[-1][0]

    def _extend_beam(self, log_prob: float, tokens: Tokens) -> list[tuple[float, Tokens]]:
        trie, node = self.group.trie, ROOT
        for token in tokens:
            node = trie.child(node, token)
        with torch.no_grad():
            ids = torch.tensor([[*self._prompt, *tokens]])
            logits = self._model(encoder_outputs=(self._encoded,), decoder_input_ids=ids, use_cache=False).logits[0, -1]
        after = torch.log_softmax(logits, dim=-1).tolist()
        return [(log_prob + after[token], [*tokens, token]) for token in trie.children(node)[0].tolist()]

    def _score(self, log_prob: float, tokens: Tokens) -> float:
        return log_prob / len(tokens) if self.group.ranking == "mean" else log_prob

    def _is_end(self, each: tuple[float, Tokens]) -> bool:
        return each[1][-1] == self.group.trie.eos

    def _note_cut(self, scores: list[float], rank: int) -> None:
        if 0 < rank < len(scores):
            self.closest = min(self.closest, scores[rank - 1] - scores[rank])


_DOUBLES: dict[int, Any] = {}


def double(model: RandomModel) -> Any:
    """Return a copy of a model in double precision."""
    import copy

    if id(model.model) not in _DOUBLES:
        _DOUBLES[id(model.model)] = copy.deepcopy(model.model).double()
    return _DOUBLES[id(model.model)]
