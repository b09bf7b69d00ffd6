"""Open the pretrained encoder to start from, and set the dropout of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from onym.errors import ConfigError
from onym.models.torch_encoder import max_length, open_body
from onym.train.configs import StartConfig

_QUERIES = ("q_proj", "q", "query")
"""Names of the query projection in attention layers."""


def open_encoder(folder: Path, start: StartConfig) -> Any:
    """Return an encoder to train, in fp32, on the CPU."""
    model = open_body(folder, "fp32", device="cpu").requires_grad_(True).train()
    set_dropout(model, start.dropout, start.dropout if start.attention_dropout is None else start.attention_dropout)
    if start.freeze_embeddings:
        model.get_input_embeddings().requires_grad_(False)
    return model


def open_document_encoder(folder: Path, start: StartConfig, window: int) -> Any:
    """Return a document encoder to train; raise ConfigError if `window` is longer than its maximum length."""
    model = open_encoder(folder, start)
    if window > max_length(model):
        what = f"start.window is {window} tokens, but the encoder reads at most {max_length(model)}"
        raise ConfigError("config-invalid", what, where=str(folder), fix="lower start.window and start.overlap")
    return model


def set_dropout(model: Any, dropout: float, attention_dropout: float) -> None:
    """Set the dropout of a model's modules and configuration."""
    whole = ("dropout", "dropout_rate", "hidden_dropout_prob")
    attention = ("attention_dropout", "attention_probs_dropout_prob")
    for name, value in (*((each, dropout) for each in whole), *((each, attention_dropout) for each in attention)):
        if hasattr(model.config, name):
            setattr(model.config, name, value)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    for module in model.modules():
        _set_dropout(module, dropout, attention_dropout)


def _set_dropout(module: Any, dropout: float, attention_dropout: float) -> None:
    """Set the dropout of one module; changing the configuration alone has no effect after the model was built."""
    value = attention_dropout if any(hasattr(module, name) for name in _QUERIES) else dropout
    own = getattr(module, "dropout", None)
    if isinstance(own, torch.nn.Dropout):
        own.p = value
    elif isinstance(own, float):
        module.dropout = value
