"""The sizes of an encoder that ONNX Runtime can compute, read from `config.json` and bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from onym.errors import ConfigError, InputError, LimitError, OnymError, missing_extra
from onym.models.encoder import MIN_LENGTH
from onym.models.settings import CONFIG, read_shape
from onym.models.tensors import quantized, read_arrays
from onym.store.limits import DEFAULT_LIMITS
from onym.store.models import WEIGHTS, model_files, require_safe, weight_files
from onym.store.output import whole_folder

FAMILIES = {"bert": 0, "camembert": 1, "roberta": 1, "xlm-roberta": 1}
"""The families that are known, each with the id of its padding where a configuration does not say."""
_LIMITS = DEFAULT_LIMITS


class EncoderShape(BaseModel):
    """What a configuration says of an encoder. The position of the first token is behind the padding's id, but for BERT.

    >>> EncoderShape(family="roberta", pad_token_id=1, vocab_size=50_265, max_position_embeddings=514).max_length
    512
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    family: str
    pad_token_id: int = Field(ge=0)
    vocab_size: int = Field(default=30_522, ge=1, le=_LIMITS.model_vocabulary)
    hidden_size: int = Field(default=768, ge=1, le=_LIMITS.model_width)
    num_hidden_layers: int = Field(default=12, ge=1, le=_LIMITS.model_layers)
    num_attention_heads: int = Field(default=12, ge=1, le=_LIMITS.model_width)
    intermediate_size: int = Field(default=3_072, ge=1, le=_LIMITS.model_width)
    max_position_embeddings: int = Field(default=512, ge=1, le=_LIMITS.model_positions)
    type_vocab_size: int = Field(default=2, ge=1, le=_LIMITS.model_vocabulary)
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
        if self.pad_token_id >= self.vocab_size:
            raise ValueError("the token that fills a text is none")
        if self.max_length < MIN_LENGTH:
            raise ValueError(f"the model reads less than {MIN_LENGTH} tokens")
        return self


def read_encoder_shape(folder: Path) -> EncoderShape:
    """Return the sizes of the encoder in a folder, which ONNX Runtime has to be able to compute."""
    family, found = read_shape(folder, dict.fromkeys(FAMILIES, ""), "an encoder without torch")
    try:
        return EncoderShape.model_validate({"pad_token_id": FAMILIES[family], **found, "family": family})
    except ValidationError as e:
        raise _refused(e, folder) from e


def _refused(error: ValidationError, folder: Path) -> OnymError:
    """Return what is wrong with a configuration: too large a number, a way of computing that is not known, or anything else."""
    first, where = error.errors()[0], str(folder / CONFIG)
    what = f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
    if first["type"] in ("greater_than_equal", "less_than_equal"):
        return LimitError("limit-model", what, where=where)
    if first["type"] == "literal_error":
        fix = "install onym[dense], or use another encoder"
        return ConfigError("model-family", f"the encoder cannot be computed without torch: {what}", where=where, fix=fix)
    return InputError("model-malformed", what, where=where, fix="fetch it again")


def write_quantized(source: Path, dest: Path) -> None:
    """Write an encoder as another folder, which is the same but for the precision of its matrices.

    One that ONNX Runtime cannot compute is refused first.
    """
    try:
        from safetensors.numpy import save
    except ImportError as e:
        raise missing_extra("an encoder in int8", "onnx") from e
    require_safe(source)
    read_encoder_shape(source)
    weights = save(quantized(read_arrays(source)))
    left_out = set(weight_files(source))
    with whole_folder(dest) as folder:
        folder.write(WEIGHTS, weights)
        for path in model_files(source):
            if path not in left_out:
                folder.write(path.relative_to(source).as_posix(), path.read_bytes())
