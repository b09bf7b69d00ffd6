"""The adapter of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onym.decoding.adapters.bart import BartAdapter
from onym.decoding.adapters.base import Adapter
from onym.decoding.adapters.t5 import T5Adapter
from onym.errors import ConfigError

FAMILIES: dict[str, Callable[[Any], Adapter]] = {"bart": BartAdapter, "marian": BartAdapter, "t5": T5Adapter}


def adapter_of(model: Any) -> Adapter:
    """Return how a seq2seq model of transformers computes; families that are not known are refused."""
    family = model.config.model_type
    if family not in FAMILIES:
        fix = f"known families are {', '.join(FAMILIES)}"
        raise ConfigError("model-family", f"models of the family {family!r} cannot be searched", fix=fix)
    return FAMILIES[family](model)
