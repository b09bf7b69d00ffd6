"""Compare decoding speed in mentions per second: published code, transformers with and without a trie callback, and Onym.

All systems use a model of BART-base's size with random weights, windows of 64 tokens, beam 5 and no prompt. Every name takes
exactly 8 steps, because the names of the open knowledge base are truncated to 7 tokens, followed by the end token.

    a   as published: one mention at a time, a trie of dicts, no caching
    b   transformers' generate, batches of 32, a callback over the trie of dicts
    c   transformers' generate without constraint, batches of 32
    d   Onym, beam search
    e   Onym, exact search for the best name within a step limit (with random weights few results can be proved optimal)

All systems use the precision that is fastest on this machine: bf16 if the CPU supports it, else fp32. Systems run in turn, and
the median is reported. `--model` measures a trained model instead; see `generative_speed.py`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.accuracy.kb_open import build_open_kb
from benchmarks.big_kb import Words, kb_of_words
from benchmarks.decoding import BATCH, DTYPES, WIDTH, bart, best_precision, cut_trie, draw_sources, real_sources
from benchmarks.models import model_folder
from benchmarks.speed import generative_speed
from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.search import SearchConfig, search_names
from onym.methods.generative.decoding.session import TreeSession
from onym.methods.generative.template import GENRE
from onym.methods.generative.trie.packed import PackedTrie
from onym.models.tokens import Tokenizer
from onym.store.arrays import Ragged

MENTIONS = {"bf16": 512, "fp32": 128}  # mentions to decode; fewer in fp32, used if the CPU has no bf16 support
SLOW_MENTIONS, LENGTH, RUNS = 8, 7, 3
BUDGET = 40
Sources = Sequence[Sequence[int]]


def add_options(parser: argparse.ArgumentParser) -> None:
    generative_speed.add_options(parser)


def run(options: argparse.Namespace) -> dict[str, object]:
    if options.model:
        return generative_speed.measure(options)
    precision = best_precision()
    trie, sources = _quick() if options.quick else _full(MENTIONS[precision])
    slow = sources[: 2 if options.quick else SLOW_MENTIONS]
    systems = _systems(trie, sources, slow, DTYPES[precision], is_quick=options.quick)
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(1 + (1 if options.quick else RUNS)):  # the first round is a warm-up
        for name, (decode, count) in systems.items():
            start = time.perf_counter()
            decode()
            if number:
                seconds[name].append((time.perf_counter() - start) / count)
    rates = {name: 1 / median(times) for name, times in seconds.items()}
    figures: dict[str, object] = {f"mentions_per_s_{name}": round(rate, 2) for name, rate in rates.items()}
    ratios = {f"d_over_{name}": round(rates["d"] / rates[name], 2) for name in "abc"}
    return figures | ratios | {"precision": precision, "mentions": len(sources)}


def _full(mentions: int) -> tuple[PackedTrie, Sources]:
    tokenizer = Tokenizer.open(model_folder("bart-tokenizer"))
    with tempfile.TemporaryDirectory() as folder:
        names = build_open_kb(Path(folder) / "kb").names.to_arrow().to_pylist()
    tokens = tokenizer.ids_of([GENRE.name_text(name) for name in names])
    return cut_trie(tokens, tokenizer.eos, tokenizer.vocabulary, LENGTH), real_sources(tokenizer, mentions)


def _quick() -> tuple[PackedTrie, Sources]:
    with tempfile.TemporaryDirectory() as folder:
        names = kb_of_words(Path(folder) / "kb", 5000).names.to_arrow().to_pylist()
    tokens: Ragged = Words().ids_of(names)
    return cut_trie(tokens, Words.eos, Words.vocabulary, LENGTH), draw_sources(Words.vocabulary, BATCH)


def _systems(
    trie: PackedTrie, sources: Sources, slow: Sources, dtype: torch.dtype, *, is_quick: bool
) -> dict[str, tuple[Callable[[], object], int]]:
    model = bart(trie.vocabulary, dtype, is_quick=is_quick)
    adapter, callback = adapter_of(model), _callback(trie)

    def onym(**options: Any) -> object:
        config = SearchConfig(width=WIDTH, batch=BATCH, **options)
        return search_names(lambda batch: TreeSession(adapter, batch), trie, sources, [()] * len(sources), config)

    return {
        "a": (lambda: _generate(model, slow, 1, use_cache=False, prefix_allowed_tokens_fn=callback), len(slow)),
        "b": (lambda: _generate(model, sources, BATCH, prefix_allowed_tokens_fn=callback), len(sources)),
        "c": (lambda: _generate(model, sources, BATCH, min_new_tokens=LENGTH + 1), len(sources)),
        "d": (onym, len(sources)),
        "e": (lambda: onym(search="exact", ranking="sum", top_k=1, budget=BUDGET), len(sources)),
    }


def _generate(model: Any, sources: Sources, batch: int, **options: Any) -> None:
    pad = model.config.pad_token_id
    for start in range(0, len(sources), batch):
        rows = [torch.tensor(source) for source in sources[start : start + batch]]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
        model.generate(
            input_ids=ids,
            attention_mask=(ids != pad).long(),
            num_beams=WIDTH,
            max_new_tokens=LENGTH + 1,
            early_stopping=False,
            length_penalty=1.0,
            no_repeat_ngram_size=0,
            forced_bos_token_id=None,
            forced_eos_token_id=None,
            do_sample=False,
            **options,
        )


def _callback(trie: PackedTrie) -> Callable[[int, torch.Tensor], list[int]]:
    """Return the callback that GENRE passes to transformers: it walks nested dicts from the root for every row."""
    root: dict[int, Any] = {}
    for sequence in _sequences(trie):
        node = root
        for token in (*sequence, trie.eos):
            node = node.setdefault(token, {})

    def allow_tokens(_: int, ids: torch.Tensor) -> list[int]:
        node = root
        for token in ids.tolist()[1:]:
            node = node.get(token, {})
        return list(node) or [trie.eos]

    return allow_tokens


def _sequences(trie: PackedTrie) -> list[list[int]]:
    """Return the tokens of every name, level by level; all names have the same length."""
    import numpy as np

    nodes, paths = np.zeros(1, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    for _ in range(LENGTH):
        rows, tokens, nodes = trie.children_of(nodes)
        paths = np.concatenate([paths[rows], tokens[:, None].astype(np.int64)], axis=1)
    found: list[list[int]] = paths.tolist()
    return found
