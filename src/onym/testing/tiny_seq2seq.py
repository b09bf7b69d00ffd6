"""A tiny BART with random weights as a folder of Hugging Face, and a byte-level tokenizer for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
DEFAULTS = {
    "early_stopping": True,
    "forced_bos_token_id": 0,
    "forced_eos_token_id": 2,
    "length_penalty": 2.0,
    "max_length": 5,
    "no_repeat_ngram_size": 3,
    "num_beams": 4,
}
"""What BART's published checkpoints tell `generate`, and some more that would spoil an answer."""


def tokenizer_json(texts: Iterable[str] = (), *, more: int = 0) -> str:
    """Return a tokenizer of bytes as BART's is, with merges of the texts, and so many tokens that no text has."""
    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.processors import TemplateProcessing
    from tokenizers.trainers import BpeTrainer

    fast = Tokenizer(BPE())
    fast.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=400, special_tokens=list(SPECIAL), initial_alphabet=ByteLevel.alphabet(), show_progress=False
    )
    fast.train_from_iterator(list(texts), trainer)
    fast.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    fast.add_tokens([f"none{number}" for number in range(more)])
    return str(fast.to_str())


def save_tokenizer(folder: Path, *, more: int = 0) -> Path:
    """Write a tokenizer alone."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["myocardial infarction", "infarct myocardial", "heart attack", "high blood pressure", "hypertension", "START END"]
    (folder / "tokenizer.json").write_text(tokenizer_json([f" {word}" for word in words], more=more))
    return folder


def tiny_bart(seed: int = 0, **more: Any) -> Any:
    """Return a BART whose random weights make some names much likelier than others."""
    from transformers import BartConfig, BartForConditionalGeneration

    sizes: dict[str, Any] = {"vocab_size": 420, "d_model": 16, "max_position_embeddings": 160}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 16}
    torch.manual_seed(seed)
    model = BartForConditionalGeneration(BartConfig(**(sizes | more)))
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn_like(weights) * 0.3)
    return model.eval()


def save_model(folder: Path, seed: int = 0, *, has_tokenizer: bool = True, **more: Any) -> Path:
    """Write a model, with its tokenizer, as `save_pretrained` does."""
    tiny_bart(seed, **more).save_pretrained(folder)
    return save_tokenizer(folder) if has_tokenizer else folder


def add_defaults(folder: Path) -> Path:
    """Give a model BART's own defaults of `generate`, where older and newer checkpoints have them."""
    for name in ("config.json", "generation_config.json"):
        path = folder / name
        found = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(found | DEFAULTS))
    return folder
