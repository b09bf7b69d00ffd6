"""Adapters: the decoders of seq2seq model families, with the interface that the search needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onym.errors import ConfigError
from onym.methods.generative.decoding.adapters.bart import BartAdapter
from onym.methods.generative.decoding.adapters.base import Adapter
from onym.methods.generative.decoding.adapters.t5 import T5Adapter

__all__ = ["Adapter", "adapter_of"]
FAMILIES: dict[str, Callable[[Any], Adapter]] = {"bart": BartAdapter, "marian": BartAdapter, "t5": T5Adapter}


def adapter_of(model: Any) -> Adapter:
    """Return the adapter of a transformers seq2seq model; raise ConfigError for unsupported families."""
    family = model.config.model_type
    if family not in FAMILIES:
        fix = f"use a model of a supported family: {', '.join(FAMILIES)}"
        raise ConfigError("model-family", f"models of the family {family!r} are not supported", fix=fix)
    return FAMILIES[family](model)
