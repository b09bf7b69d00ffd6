"""How a text becomes a vector and how vectors are compared: kept in a model's folder, for it was trained so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from onym.errors import ConfigError, InputError, LimitError
from onym.store.limits import DEFAULT_LIMITS
from onym.store.models import FolderSettings, find_model_file, read_model_json

if TYPE_CHECKING:
    from torch import Tensor

MODULES = "modules.json"
_MAX_TOKENS = 100_000


def read_modules(folder: Path) -> dict[str, Any]:
    """Return the pooling, the similarity and the length that such a folder was trained with."""
    modules = _modules(folder)
    kinds = [kind for kind, _ in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        what = f"its modules are {', '.join(kinds)}; read are a Transformer, a Pooling and perhaps a Normalize"
        raise ConfigError("model-family", what, where=str(folder / MODULES), fix="use another encoder")
    return {
        "pooling": _pooling(folder / modules[1][1] / "config.json"),
        "similarity": "cosine" if "Normalize" in kinds else _similarity(folder),
        "length": _length(folder / modules[0][1]),
    }


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Return the kinds of the modules, without the path of their code, and their folders."""
    try:
        found = [(str(each["type"]).rpartition(".")[2], str(each["path"])) for each in read_model_json(folder / MODULES)]
    except (TypeError, KeyError) as e:
        raise _malformed(folder / MODULES, "a module has no type or no path") from e
    if any(path.startswith(".") or Path(path).name != path for _, path in found):
        raise _malformed(folder / MODULES, "a module lies outside of the folder, or is hidden in it")
    return found


def _pooling(path: Path) -> str:
    """Return the pooling, which newer files name and older ones mark."""
    config = _object(path)
    marks = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    marked = [marks.get(key, key) for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    named = config.get("pooling_mode", marked)
    pooling = named if isinstance(named, str) else named[0] if isinstance(named, list) and len(named) == 1 else ""
    if pooling not in ("cls", "mean"):
        raise ConfigError("model-family", "its pooling is neither cls nor mean", where=str(path), fix="use another encoder")
    return str(pooling)


def _similarity(folder: Path) -> str:
    """Return what the vectors are compared by; sentence-transformers itself takes the cosine where nothing is said."""
    path = folder / "config_sentence_transformers.json"
    named = (_object(path) if path.is_file() else {}).get("similarity_fn_name") or "cosine"
    if named not in ("cosine", "dot"):
        what = "its vectors are compared neither by cosine nor by dot"
        raise ConfigError("model-family", what, where=str(path), fix="use another encoder")
    return str(named)


def _length(folder: Path) -> int:
    """Return how many tokens are read; where nothing is said, as many as the model can."""
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        path = folder / name
        found = _object(path).get(key) if path.is_file() else None
        if isinstance(found, int) and 4 <= found <= _MAX_TOKENS:
            return found
    return _MAX_TOKENS


def _object(path: Path) -> dict[str, Any]:
    found = read_model_json(path)
    if not isinstance(found, dict):
        raise _malformed(path, "the file is not an object")
    return found


def _malformed(path: Path, what: str) -> InputError:
    return InputError("model-malformed", what, where=str(path), fix="fetch the model again")


Pooling = Literal["cls", "mean", "mean-all"]
"""The first token's vector; the mean over the text's tokens; or SapBERT's `mean_all_tok`, where padding counts as well."""


def pooled(hidden: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """Return one vector for each text.

    *Shape:* hidden (texts, tokens, width), mask (texts, tokens) -> (texts, width). For `mean-all` the texts have to be padded
    to one fixed length, else the vector of a text would depend on the others.

    >>> import torch
    >>> hidden, mask = torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[1, 1, 0]])
    >>> [pooled(hidden, mask, way).item() for way in ("cls", "mean", "mean-all")]
    [2.0, 3.0, 5.0]
    """
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "mean-all":
        return hidden.mean(1)
    weights = mask.unsqueeze(-1).to(hidden.dtype)  # (texts, tokens, 1)
    return (hidden * weights).sum(1) / weights.sum(1)


Similarity = Literal["dot", "cosine"]


class EncoderSettings(FolderSettings):
    """The settings of an encoder; by default those of SapBERT's published evaluation.

    `length` is how many tokens of a text are read, special ones included. With `cosine`, vectors have the length 1.

    >>> EncoderSettings().changed(pooling="mean").length
    25
    """

    FILE: ClassVar[str] = "encoder.json"

    pooling: Pooling = "cls"
    similarity: Similarity = "dot"
    length: int = Field(default=25, ge=4, le=100_000)


def read_settings(folder: Path) -> EncoderSettings:
    """Return the settings of a model's folder: those that Onym wrote there, or sentence-transformers, or SapBERT's.

    >>> read_settings(getfixture("tmp_path"))
    EncoderSettings(pooling='cls', similarity='dot', length=25)
    """
    if not (folder / EncoderSettings.FILE).is_file() and (folder / MODULES).is_file():
        return EncoderSettings.model_validate(read_modules(folder))
    return EncoderSettings.read(folder)


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
