"""Shared code of the decoder benchmarks: mentions, a model of BART-base size, and timing of one step."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import torch

from benchmarks.report import data_folder
from onym.datasets import prepare
from onym.methods.generative.decoding.adapters import Adapter, adapter_of
from onym.methods.generative.decoding.explorer import Explorer, NodeRequest
from onym.methods.generative.decoding.search import BeamSearch
from onym.methods.generative.decoding.session import TreeSession
from onym.methods.generative.template import GENRE
from onym.methods.generative.trie.packed import PackedTrie
from onym.models.device import resolve_precision
from onym.models.tokens import Tokenizer
from onym.store.arrays import Ragged

WINDOW, WIDTH, BATCH = 64, 5, 32
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
BART_BASE = {
    "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12, "decoder_attention_heads": 12,
    "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072,
}  # fmt: skip
SMALL = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
}  # fmt: skip


def best_precision() -> Literal["fp32", "bf16"]:
    """Return the fastest precision on this CPU."""
    return resolve_precision("auto", torch.device("cpu"))


def bart(vocabulary: int, dtype: torch.dtype, *, is_quick: bool) -> Any:
    """Return a BART with random weights: of BART-base size, or small if `is_quick`."""
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(0)
    shape: dict[str, Any] = SMALL if is_quick else BART_BASE
    model = BartForConditionalGeneration(BartConfig(vocab_size=vocabulary, **shape))
    return model.eval().requires_grad_(False).to(dtype)


def real_sources(tokenizer: Tokenizer, count: int) -> list[list[int]]:
    """Return windows of 64 tokens around test mentions of BC5CDR."""
    with tempfile.TemporaryDirectory() as folder:
        documents = list(prepare("bc5cdr", data_folder(), Path(folder) / "bc5cdr").documents("test"))
    mentions = ((doc, mention) for doc in documents for mention in doc.mentions)
    return [GENRE.source_ids(doc.text, m.start, m.end, tokenizer, budget=WINDOW) for doc, m in islice(mentions, count)]


def draw_sources(vocabulary: int, count: int, seed: int = 0) -> list[list[int]]:
    """Return sources of 64 random tokens."""
    rng = np.random.default_rng(seed)
    found: list[list[int]] = rng.integers(5, vocabulary, (count, WINDOW)).tolist()
    return found


def cut_trie(tokens: Ragged, eos: int, vocabulary: int, length: int) -> PackedTrie:
    """Return a trie of all names with at least `length` tokens, truncated so that all take the same number of steps."""
    lengths = np.diff(tokens.offsets)
    starts = tokens.offsets[:-1][lengths >= length]
    values = tokens.values[starts[:, None] + np.arange(length)]
    return PackedTrie.build(Ragged(np.arange(len(starts) + 1) * length, values.ravel()), eos, vocabulary)


class _TimedExplorer(Explorer):
    """Records the start time and batch size of each step."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.begins: list[tuple[float, int]] = []
        super().__init__(*args, **options)

    def ask(self, requests: Sequence[NodeRequest]) -> None:
        self.begins.append((time.perf_counter(), len(requests)))
        super().ask(requests)


def step_seconds(trie: PackedTrie, adapter: Adapter, sources: Sequence[Sequence[int]]) -> float:
    """Return the median seconds of one beam search step, including the model, while the batch is (nearly) full."""
    steps: list[float] = []
    for start in range(0, len(sources), BATCH):
        batch = sources[start : start + BATCH]
        session = TreeSession(adapter, batch)
        explorer = _TimedExplorer(session, trie, [[] for _ in batch], widest=2 * WIDTH)
        BeamSearch(explorer, WIDTH).run()
        begins = explorer.begins
        full = [(two[0] - one[0]) for one, two in pairwise(begins) if one[1] >= 0.9 * WIDTH * len(batch)]
        steps += full
    return median(steps)


def adapter_for(vocabulary: int, *, is_quick: bool) -> Adapter:
    return adapter_of(bart(vocabulary, DTYPES[best_precision()], is_quick=is_quick))
