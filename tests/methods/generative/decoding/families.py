"""Tiny models of every family with random weights, and their reference logits by transformers' forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

BIOBART = 85_401
"""The vocabulary of BioBART v2."""


def bart(vocabulary: int = 40, **more: object) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    return BartForConditionalGeneration(BartConfig(vocab_size=vocabulary, **_sizes(), **more))


def marian() -> Any:
    from transformers import MarianConfig, MarianMTModel

    ids = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "forced_eos_token_id": None}
    more = {"scale_embedding": True, "activation_function": "swish"}
    return MarianMTModel(MarianConfig(vocab_size=40, **ids, **_sizes(), **more))


def t5(*, is_gated: bool = False) -> Any:
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"vocab_size": 40, "d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    buckets = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 16}
    kind = {"feed_forward_proj": "gated-gelu" if is_gated else "relu", "tie_word_embeddings": not is_gated}
    return T5ForConditionalGeneration(T5Config(decoder_start_token_id=0, **sizes, **buckets, **kind))


def _sizes() -> dict[str, Any]:
    sizes: dict[str, Any] = {"d_model": 16, "max_position_embeddings": 160}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 2, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 16}
    return sizes


FAMILIES: dict[str, Callable[[], Any]] = {
    "bart": bart,
    "bart-scaled": lambda: bart(scale_embedding=True, activation_function="relu"),
    "biobart": lambda: bart(BIOBART),
    "marian": marian,
    "t5": t5,
    "t5-gated": lambda: t5(is_gated=True),
}


@cache
def model(family: str, dtype: torch.dtype = torch.float32) -> Any:
    """Return a model in which all weights and biases affect the output."""
    torch.manual_seed(len(family))
    found = FAMILIES[family]()
    with torch.no_grad():
        for weights in found.parameters():
            if weights.requires_grad:  # not Marian's position embeddings, which are constants
                weights.add_(torch.randn_like(weights) * 0.2)
        if "final_logits_bias" in dict(found.named_buffers()):
            found.final_logits_bias.copy_(torch.randn_like(found.final_logits_bias))
    return found.to(dtype).eval()


def logits(found: Any, source: Sequence[int], tokens: Sequence[int]) -> Tensor:
    """Return the logits after the start token and the given decoder tokens, without padding or caching."""
    ids = torch.tensor([[found.config.decoder_start_token_id, *tokens]])
    with torch.no_grad():
        after: Tensor = found(input_ids=torch.tensor([source]), decoder_input_ids=ids, use_cache=False).logits[0, -1]
    return after
