"""Tiny encoders of every family, with random weights, as folders of Hugging Face; their tokenizer is one of bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from onym.testing.tiny_seq2seq import save_tokenizer

VOCABULARY, POSITIONS = 420, 64
_IDS = {"vocab_size": VOCABULARY, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
_SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}


def _of(name: str, **more: Any) -> Callable[..., Any]:
    def make(positions: int = POSITIONS) -> Any:
        import transformers

        config = getattr(transformers, f"{name}Config")(**(_IDS | {"max_position_embeddings": positions} | more))
        return getattr(transformers, f"{name}Model")(config)

    return make


FAMILIES: dict[str, Callable[..., Any]] = {
    "bert": _of("Bert", **_SIZES),
    "camembert": _of("Camembert", **_SIZES),
    "distilbert": _of("DistilBert", dim=16, n_layers=2, n_heads=2, hidden_dim=16),
    "electra": _of("Electra", embedding_size=16, **_SIZES),
    "modernbert": _of("ModernBert", cls_token_id=0, sep_token_id=2, **_SIZES),
    "mpnet": _of("MPNet", **_SIZES),
    "roberta": _of("Roberta", **_SIZES),
    "xlm-roberta": _of("XLMRoberta", **_SIZES),
}


def tiny_encoder(family: str = "bert", seed: int = 0, positions: int = POSITIONS) -> Any:
    """Return a model whose weights, biases among them, all matter; it reads so many tokens."""
    torch.manual_seed(seed)
    model = FAMILIES[family](positions)
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn_like(weights) * 0.3)
    return model.eval()


def save_encoder(folder: Path, family: str = "bert", seed: int = 0, positions: int = POSITIONS) -> Path:
    """Write an encoder with its tokenizer, as `save_pretrained` does."""
    tiny_encoder(family, seed, positions).save_pretrained(folder)
    return save_tokenizer(folder)
