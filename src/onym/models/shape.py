"""The configuration of a model, `config.json`: read, and bounded before anything is made of it.

Every model is checked here, whichever library computes it: its family by `read_shape`, its numbers by `require_bounded`, and
by `require_readable` whether an encoder can read a text. What is made of it then differs: transformers gets the fields of its
own class of a family (`config_of`), and ONNX Runtime the sizes of a graph that computes BERT and its kin (`EncoderShape`),
which has to refuse whatever that graph does not compute.
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
"""What published files say besides the fields of transformers' classes, and what matters."""
_SIZES = ("_size", "dim", "heads", "d_model", "d_ff", "d_kv", "buckets")
_MAX_NUMBER = 1_000_000_000
_MAX_WORD = 200  # code points
MIN_LENGTH = 4
"""Tokens that an encoder has to read: two around a text and some of it."""


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
    require_bounded(said, where)
    return kind(**said)


def require_bounded(said: Mapping[str, Any], where: str) -> None:
    """Refuse a configuration with a number that is too small or too large, also one inside of a list or an object."""
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


def require_readable(pad: Any, vocabulary: int, length: int, folder: Path) -> None:
    """Refuse an encoder that cannot fill a text, or that can read hardly any of it."""
    what = ""
    if not isinstance(pad, int) or not 0 <= pad < vocabulary:
        what = "the configuration does not name the token that fills a text"
    elif length < MIN_LENGTH:
        what = f"the model reads less than {MIN_LENGTH} tokens"
    if what:
        raise InputError("model-malformed", what, where=str(folder / CONFIG), fix="fetch it again")


FAMILIES = {"bert": 0, "camembert": 1, "roberta": 1, "xlm-roberta": 1}
"""The families that ONNX Runtime computes, each with the id of its padding where a configuration does not say."""


class EncoderShape(BaseModel):
    """What a configuration says of an encoder that ONNX Runtime computes.

    The position of the first token is behind the padding's id, but for BERT.

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
        """The position of the first token."""
        return 0 if self.family == "bert" else self.pad_token_id + 1

    @property
    def max_length(self) -> int:
        """How many tokens the model can read."""
        return self.max_position_embeddings - self.first_position

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError("the width is no multiple of the number of heads")
        return self


def read_encoder_shape(folder: Path) -> EncoderShape:
    """Return the sizes of the encoder in a folder, which ONNX Runtime has to be able to compute."""
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
    """Return what is wrong with a configuration: too large a number, a way of computing that is not known, or anything else."""
    first, where = error.errors()[0], str(folder / CONFIG)
    what = f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
    if first["type"] in ("greater_than_equal", "less_than_equal"):
        return LimitError("limit-model", what, where=where)
    if first["type"] == "literal_error":
        fix = "install onym[dense], or use another encoder"
        return ConfigError("model-family", f"the encoder cannot be computed without torch: {what}", where=where, fix=fix)
    return InputError("model-malformed", what, where=where, fix="fetch it again")
