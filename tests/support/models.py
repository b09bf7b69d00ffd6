"""Writes tiny models with random weights: a BART, encoders of every family, a collective model, a reranker.

Their tokenizer is a byte-level BPE. All but the reranker need torch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from onym.methods.reranker.model import MEMORY, RECORD, RerankerOrigin, write_reranker
from onym.methods.trees.memory import write_memory
from onym.methods.trees.trees import Trees

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
"""The `generate` defaults of published BART checkpoints, plus others that would change results if Onym used them."""
VOCABULARY, POSITIONS = 420, 64
_IDS = {"vocab_size": VOCABULARY, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
_SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
WIDTH = 16
ORIGIN = RerankerOrigin(features=("kind", "tfidf"), parts=("tfidf",))


def tokenizer_json(texts: Iterable[str] = (), *, more: int = 0) -> str:
    """Return a byte-level BPE tokenizer trained on the texts, with `more` extra tokens that occur in no text."""
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
    """Write a tokenizer without a model."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["myocardial infarction", "infarct myocardial", "heart attack", "high blood pressure", "hypertension", "START END"]
    (folder / "tokenizer.json").write_text(tokenizer_json([f" {word}" for word in words], more=more))
    return folder


def tiny_bart(seed: int = 0, **more: Any) -> Any:
    """Return a BART with random weights. The weights are so large that some names are much more likely than others."""
    import torch
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
    """Write a BART model with its tokenizer, as `save_pretrained` does."""
    tiny_bart(seed, **more).save_pretrained(folder)
    return save_tokenizer(folder) if has_tokenizer else folder


def add_defaults(folder: Path) -> Path:
    """Add `generate` defaults to a model: to config.json (older checkpoints) and generation_config.json (newer ones)."""
    for name in ("config.json", "generation_config.json"):
        path = folder / name
        found = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(found | DEFAULTS))
    return folder


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
    """Return an encoder in which all weights and biases affect the output. `positions` is the maximum number of tokens."""
    import torch

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


def save_collective(folder: Path, **settings: Any) -> Path:
    """Write a collective model; by default it detects mentions by spans and represents them by mean pooling."""
    import torch

    from onym.methods.collective.model import Heads, heads_bytes
    from onym.methods.collective.settings import HEADS, NAMES, CollectiveSettings
    from onym.models.settings import EncoderSettings

    described: dict[str, Any] = {
        "detect": "spans",
        "represent": "mean",
        "window": 32,
        "overlap": 8,
        "max_span_tokens": 8,
        "dim": WIDTH,
    }
    own = CollectiveSettings(**(described | settings))
    save_encoder(folder)
    torch.manual_seed(3)
    (folder / HEADS).write_bytes(heads_bytes(Heads.of(own, WIDTH)))
    (folder / CollectiveSettings.FILE).write_bytes(own.to_bytes())
    if own.links:
        save_encoder(folder / NAMES, seed=1)
        (folder / NAMES / EncoderSettings.FILE).write_bytes(EncoderSettings(pooling="mean", similarity="cosine").to_bytes())
    return folder


def stump(feature: int = 0) -> Trees:
    """Return a decision stump: -1 if the feature is at most 0.5, else 1.

    >>> stump().probabilities(np.array([[0.2], [0.9]])).round(2).tolist()
    [0.27, 0.73]
    """
    return Trees(
        roots=np.array([0]),
        feature=np.array([feature, 0, 0]),
        threshold=np.array([0.5, 0.0, 0.0]),
        left=np.array([1, 1, 2]),
        right=np.array([2, 1, 2]),
        is_left_missing=np.zeros(3),
        value=np.array([0.0, -1.0, 1.0]),
        baseline=np.zeros(1),
    )


def save_reranker(folder: Path, record: Mapping[str, Any] | None = None, meanings: Mapping[str, str] | None = None) -> Path:
    """Write a reranker that ranks by TF-IDF, with a training record and a memory of surfaces and their concepts.

    >>> from onym.methods.reranker.model import open_reranker
    >>> folder = save_reranker(getfixture("tmp_path") / "model", {"made": "here"}, {"mi": "mesh:D009203"})
    >>> open_reranker(folder).memory.entries("mi")
    [('mesh:D009203', '', 1)]
    """
    own = dict(record or {})
    counts = Counter({(surface, concept_id, ""): 1 for surface, concept_id in (meanings or {}).items()})
    write_memory(counts, own.get("corpora", []), folder / MEMORY)
    write_reranker(folder, ORIGIN, stump(feature=1), None, own)
    (folder / RECORD).write_text(json.dumps(own))
    return folder
