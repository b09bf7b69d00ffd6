"""What FSDP needs of a seq2seq model. accelerate shards a model over devices if its own configuration file says so."""

from __future__ import annotations

import os
from typing import Any

from torch import Tensor

from onym.errors import ConfigError


def is_sharded() -> bool:
    """Tell whether this process was launched to hold a part of a model."""
    return os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"


def require_shardable(precision: str) -> None:
    """Refuse weights in bf16 with a copy in fp32: the copy would be of a shard that is elsewhere.

    >>> require_shardable("bf16-weights")
    """
    if is_sharded() and precision == "bf16-weights":
        what = "optim.precision: weights in bf16 cannot be sharded by FSDP"
        raise ConfigError("config-invalid", what, fix='set optim.precision to "bf16"')


def one_embedding(model: Any) -> Any:
    """Make the embeddings of encoder and decoder the very module that they share their weights with.

    Each module is in one group of FSDP 2, and a weight may be in one group alone. Numbers and names stay as they are.
    """
    if not model.config.is_encoder_decoder:
        return model
    shared = model.get_input_embeddings()
    for stack in (model.get_encoder(), model.get_decoder()):
        own = getattr(stack, "embed_tokens", None)
        if own is not None and own.weight is shared.weight:
            stack.embed_tokens = shared
    return model


def drop_tied_copies(state: dict[str, Tensor], model: Any) -> dict[str, Tensor]:
    """Return a state with every weight once: gathered from all devices, tied ones have become copies."""
    again = dict(model.named_parameters(remove_duplicate=False)).keys() - dict(model.named_parameters()).keys()
    return {name: value for name, value in state.items() if name not in again}
