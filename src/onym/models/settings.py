"""Encoder settings (pooling, similarity, length), stored in the model's folder because they must match its training.

`pool` works on torch tensors and NumPy arrays. Normalisation is implemented by each encoder, because torch and NumPy round
norms differently.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field

from onym.errors import ConfigError, InputError
from onym.store.models import FolderSettings, read_model_json

MODULES = "modules.json"
_MAX_TOKENS = 100_000


def read_modules(folder: Path) -> dict[str, Any]:
    """Read pooling, similarity and length from a sentence-transformers folder."""
    modules = _modules(folder)
    kinds = [kind for kind, _ in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        what = f"unsupported modules {', '.join(kinds)}; only Transformer, Pooling and optionally Normalize are supported"
        raise ConfigError("model-family", what, where=str(folder / MODULES), fix="use another encoder")
    return {
        "pooling": _pooling(folder / modules[1][1] / "config.json"),
        "similarity": "cosine" if "Normalize" in kinds else _similarity(folder),
        "length": _length(folder / modules[0][1]),
    }


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Return the class name and the folder of each sentence-transformers module."""
    try:
        found = [(str(each["type"]).rpartition(".")[2], str(each["path"])) for each in read_model_json(folder / MODULES)]
    except (TypeError, KeyError) as e:
        raise _make_error(folder / MODULES, "a module has no type or no path") from e
    if any(path.startswith(".") or Path(path).name != path for _, path in found):
        raise _make_error(folder / MODULES, "the path of a module is not a plain folder name")
    return found


def _pooling(path: Path) -> str:
    """Return the pooling. Newer configuration files name the pooling; older files have a boolean flag for each kind."""
    config = _object(path)
    marks = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    marked = [marks.get(key, key) for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    named = config.get("pooling_mode", marked)
    pooling = named if isinstance(named, str) else named[0] if isinstance(named, list) and len(named) == 1 else ""
    if pooling not in ("cls", "mean"):
        raise ConfigError("model-family", "the pooling is neither cls nor mean", where=str(path), fix="use another encoder")
    return str(pooling)


def _similarity(folder: Path) -> str:
    """Return the similarity; the default of sentence-transformers is cosine."""
    path = folder / "config_sentence_transformers.json"
    named = (_object(path) if path.is_file() else {}).get("similarity_fn_name") or "cosine"
    if named not in ("cosine", "dot"):
        what = "the similarity is neither cosine nor dot"
        raise ConfigError("model-family", what, where=str(path), fix="use another encoder")
    return str(named)


def _length(folder: Path) -> int:
    """Return the maximum length in tokens; if it is not configured, a number larger than the limit of any model."""
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        path = folder / name
        found = _object(path).get(key) if path.is_file() else None
        if isinstance(found, int) and 4 <= found <= _MAX_TOKENS:
            return found
    return _MAX_TOKENS


def _object(path: Path) -> dict[str, Any]:
    found = read_model_json(path)
    if not isinstance(found, dict):
        raise _make_error(path, "the file is not a JSON object")
    return found


def _make_error(path: Path, what: str) -> InputError:
    return InputError("model-malformed", what, where=str(path), fix="download the model again")


Pooling = Literal["cls", "mean", "mean-all"]
"""The vector of the first token, the mean over the text's tokens, or SapBERT's `mean_all_tok`, which includes padding."""


Values = TypeVar("Values", bound=Any)


def pool(hidden: Values, mask: Any, pooling: Pooling) -> Values:
    """Pool token vectors into one vector per text, for torch tensors or NumPy arrays.

    *Shape:* hidden (texts, tokens, width), integer mask (texts, tokens) -> (texts, width). For `mean-all`, texts must be padded
    to a fixed length; otherwise the vector of a text would depend on its batch. NumPy computes means in fp64.

    >>> import numpy as np
    >>> hidden, mask = np.array([[[2.0], [4.0], [9.0]]]), np.array([[1, 1, 0]])
    >>> [pool(hidden, mask, way).item() for way in ("cls", "mean", "mean-all")]
    [2.0, 3.0, 5.0]
    """
    weights = mask[:, :, None]
    found: Values
    if pooling == "cls":
        found = hidden[:, 0]
    elif pooling == "mean-all":
        found = hidden.mean(1)
    else:
        found = (hidden * weights).sum(1) / weights.sum(1)
    return found


Similarity = Literal["dot", "cosine"]


class EncoderSettings(FolderSettings):
    """The settings of an encoder; the defaults are those of SapBERT's published evaluation.

    `length` is the maximum number of tokens, including special tokens. With `cosine`, vectors are normalised.

    >>> EncoderSettings().update(pooling="mean").length
    25
    """

    FILE: ClassVar[str] = "encoder.json"

    pooling: Pooling = "cls"
    similarity: Similarity = "dot"
    length: int = Field(default=25, ge=4, le=100_000)


def read_settings(folder: Path) -> EncoderSettings:
    """Read the settings that Onym or sentence-transformers stored in a model's folder; if missing, return the defaults.

    >>> read_settings(getfixture("tmp_path"))
    EncoderSettings(pooling='cls', similarity='dot', length=25)
    """
    if not (folder / EncoderSettings.FILE).is_file() and (folder / MODULES).is_file():
        return EncoderSettings.model_validate(read_modules(folder))
    return EncoderSettings.read(folder)
