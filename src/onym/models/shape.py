"""Read the configuration of a model, `config.json`, and check it before the model is created.

All models are checked here, for torch and for ONNX Runtime: the family by `read_shape`, the numbers by `require_bounded`, and
padding and length of encoders by `require_readable`. For transformers, `config_of` passes on only the fields of the family's
own configuration class. For ONNX Runtime, `EncoderShape` rejects every option that our BERT graph does not implement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from onym.errors import ConfigError, InputError, LimitError, OnymError
from onym.store.limits import DEFAULT_LIMITS
from onym.store.models import find_model_file, read_model_json

CONFIG = "config.json"
_OLDER = (
    "decoder_start_token_id",
    "global_attn_every_n_layers",
    "global_rope_theta",
    "local_rope_theta",
    "scale_decoder_outputs",
    "tie_word_embeddings",
)
"""Keys of published files that are not fields of transformers' configuration classes, but affect the model."""
_SIZES = ("_size", "dim", "heads", "d_model", "d_ff", "d_kv", "buckets")
_MAX_NUMBER = 1_000_000_000
_MAX_WORD = 200  # characters of a family name quoted in an error
MIN_LENGTH = 4
"""The minimum length of an encoder in tokens: two special tokens and some of the text."""


def read_shape(folder: Path, families: Mapping[str, str], what: str) -> tuple[str, dict[str, Any]]:
    """Return the family of a model, which must be one of `families`, and its configuration.

    `what` describes the expected model in errors, e.g. "an encoder".

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / CONFIG).write_text('{"model_type": "gpt2"}')
    >>> read_shape(folder, {"bert": "BertModel"}, "an encoder")
    Traceback (most recent call last):
    onym.errors.ConfigError: [model-family] the family 'gpt2' is not supported for an encoder; supported: bert...
    """
    path = find_model_file(folder, CONFIG)
    found = read_model_json(path) if path else None
    family = found.get("model_type") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(family, str):
        what, where = "config.json is missing or invalid", str(folder / CONFIG)
        raise InputError("model-malformed", what, where=where, fix="download the model again")
    if family not in families:
        problem = f"the family {family[:_MAX_WORD]!r} is not supported for {what}; supported: {', '.join(families)}"
        raise ConfigError("model-family", problem, where=str(folder), fix="use a model of one of these families")
    return family, found


def config_of(kind: Any, found: Mapping[str, Any], where: str = "") -> Any:
    """Create a transformers configuration from the fields of the family's own class only; other keys are ignored.

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
    require_bounded(said, where)
    return kind(**said)


def require_bounded(said: Mapping[str, Any], where: str) -> None:
    """Raise LimitError if any number is too small or too large; nested lists and objects are checked too."""
    for key, value in said.items():
        _require_bounded(key, value, where)


def _require_bounded(key: str, value: Any, where: str) -> None:
    least, limit = _bounds(key)
    values = [value]
    while values:
        value = values.pop()
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int | float) and not least <= value <= limit:
            raise LimitError("limit-model", f"{key} is not between {least:,} and {limit:,}", where=where)


def _bounds(key: str) -> tuple[int, int]:
    """Return the allowed minimum and maximum of a number with this key."""
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


def require_readable(pad: Any, vocabulary: int, length: int, folder: Path) -> None:
    """Raise InputError if the padding token is invalid or the maximum length is too short."""
    what = ""
    if not isinstance(pad, int) or not 0 <= pad < vocabulary:
        what = "pad_token_id is missing or out of range"
    elif length < MIN_LENGTH:
        what = f"the maximum length of the model is below {MIN_LENGTH} tokens"
    if what:
        raise InputError("model-malformed", what, where=str(folder / CONFIG), fix="download the model again")


FAMILIES = {"bert": 0, "camembert": 1, "roberta": 1, "xlm-roberta": 1}
"""The families supported on ONNX Runtime, each with its default pad_token_id."""


class EncoderShape(BaseModel):
    """The configuration of an encoder for ONNX Runtime.

    Position ids start at 0 for BERT, and at pad_token_id + 1 for the RoBERTa families.

    >>> EncoderShape(family="roberta", pad_token_id=1, vocab_size=50_265, max_position_embeddings=514).max_length
    512
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    family: str
    pad_token_id: int = Field(ge=0)
    vocab_size: int = 30_522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3_072
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = Field(default=1e-12, ge=0, le=1)
    hidden_act: Literal["gelu"] = "gelu"
    position_embedding_type: Literal["absolute"] = "absolute"
    is_decoder: Literal[False] = False
    add_cross_attention: Literal[False] = False

    @property
    def first_position(self) -> int:
        """The position id of the first token."""
        return 0 if self.family == "bert" else self.pad_token_id + 1

    @property
    def max_length(self) -> int:
        """The maximum input length in tokens."""
        return self.max_position_embeddings - self.first_position

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError("hidden_size is not a multiple of num_attention_heads")
        return self


def read_encoder_shape(folder: Path) -> EncoderShape:
    """Read the configuration of the encoder in a folder; raise an error if it is not supported on ONNX Runtime."""
    family, found = read_shape(folder, dict.fromkeys(FAMILIES, ""), "an encoder without torch")
    said = {"pad_token_id": FAMILIES[family], **{key: found[key] for key in EncoderShape.model_fields if key in found}}
    require_bounded(said, str(folder / CONFIG))
    try:
        shape = EncoderShape.model_validate(said | {"family": family})
    except ValidationError as e:
        raise _find_refusal(e, folder) from e
    require_readable(shape.pad_token_id, shape.vocab_size, shape.max_length, folder)
    return shape


def _find_refusal(error: ValidationError, folder: Path) -> OnymError:
    """Convert a validation error to an OnymError: number out of range, unsupported option, or malformed configuration."""
    first, where = error.errors()[0], str(folder / CONFIG)
    what = f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
    if first["type"] in ("greater_than_equal", "less_than_equal"):
        return LimitError("limit-model", what, where=where)
    if first["type"] == "literal_error":
        fix = "install onym[models], or use another encoder"
        return ConfigError("model-family", f"the encoder cannot run without torch: {what}", where=where, fix=fix)
    return InputError("model-malformed", what, where=where, fix="download the model again")
