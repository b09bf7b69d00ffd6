"""What a model is: its family and its sizes, read from `config.json` and checked before transformers sees any of it.

Only what describes the model itself is handed on: no names of code, of other files, of kernels or of adapters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from onym.errors import ConfigError, InputError, LimitError
from onym.store.limits import DEFAULT_LIMITS
from onym.store.model_files import find_model_file
from onym.store.model_settings import read_model_json

CONFIG = "config.json"
_OLDER = (
    "decoder_start_token_id",
    "global_attn_every_n_layers",
    "global_rope_theta",
    "local_rope_theta",
    "scale_decoder_outputs",
    "tie_word_embeddings",
)
"""What published files say besides the fields of transformers' classes, and what matters."""
_SIZES = ("_size", "dim", "heads", "d_model", "d_ff", "d_kv", "buckets")
_MAX_NUMBER = 1_000_000_000
_MAX_WORD = 200  # code points


def read_shape(folder: Path, families: Mapping[str, str], what: str) -> tuple[str, dict[str, Any]]:
    """Return the family of a model, one of `families`, and what its configuration says.

    `what` says what the model has to be, as "an encoder".

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / CONFIG).write_text('{"model_type": "gpt2"}')
    >>> read_shape(folder, {"bert": "BertModel"}, "an encoder")
    Traceback (most recent call last):
    onym.errors.ConfigError: [model-family] a model of the family 'gpt2' is not an encoder that is known; those are bert...
    """
    path = find_model_file(folder, CONFIG)
    found = read_model_json(path) if path else None
    family = found.get("model_type") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(family, str):
        raise InputError("model-malformed", "it has no configuration", where=str(folder / CONFIG), fix="fetch it again")
    if family not in families:
        problem = f"a model of the family {family[:_MAX_WORD]!r} is not {what} that is known; those are {', '.join(families)}"
        raise ConfigError("model-family", problem, where=str(folder), fix="use a model of one of these families")
    return family, found


def config_of(kind: Any, found: Mapping[str, Any], where: str = "") -> Any:
    """Return a configuration of transformers, made of what the family itself has as fields, and of nothing else.

    >>> from transformers import BertConfig
    >>> config_of(BertConfig, {"hidden_size": 16, "auto_map": {"AutoModel": "evil.Evil"}}).hidden_size
    16
    >>> config_of(BertConfig, {"num_hidden_layers": 200_000})
    Traceback (most recent call last):
    onym.errors.LimitError: [limit-model] num_hidden_layers is not between 1 and 64
    """
    library = next(each for each in kind.__mro__ if each.__name__ == "PreTrainedConfig")
    known = {field.name for field in fields(kind)} - {field.name for field in fields(library)}
    said = {key: value for key, value in found.items() if key in known or key in _OLDER}
    for key, value in said.items():
        _require_bounded(key, value, where)
    return kind(**said)


def _require_bounded(key: str, value: Any, where: str) -> None:
    """Refuse a number that is too small or too large, also one inside of a list or an object."""
    least, limit = _bounds(key)
    values = [value]
    while values:
        value = values.pop()
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int | float) and not least <= value <= limit:
            raise LimitError("limit-model", f"{key} is not between {least:,} and {limit:,}", where=where)


def _bounds(key: str) -> tuple[int, int]:
    """Return how small and how large a number of that name may be."""
    limits = DEFAULT_LIMITS
    if key.endswith("_token_id"):
        return -1, limits.model_vocabulary
    for word, limit in (
        ("layers", limits.model_layers),
        ("vocab", limits.model_vocabulary),
        ("position", limits.model_positions),
    ):
        if word in key:
            return 1, limit
    return (1, limits.model_width) if key.endswith(_SIZES) else (-_MAX_NUMBER, _MAX_NUMBER)
