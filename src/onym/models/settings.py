"""How a text becomes a vector and how vectors are compared: kept in a model's folder, for it was trained so.

`pool` is the one pooling, of tensors and of arrays. How vectors become comparable is not shared: torch and NumPy round the
length of a vector differently, and each encoder keeps its own.
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
        raise _make_error(folder / MODULES, "a module has no type or no path") from e
    if any(path.startswith(".") or Path(path).name != path for _, path in found):
        raise _make_error(folder / MODULES, "a module lies outside of the folder, or is hidden in it")
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
        raise _make_error(path, "the file is not an object")
    return found


def _make_error(path: Path, what: str) -> InputError:
    return InputError("model-malformed", what, where=str(path), fix="fetch the model again")


Pooling = Literal["cls", "mean", "mean-all"]
"""The first token's vector; the mean over the text's tokens; or SapBERT's `mean_all_tok`, where padding counts as well."""


Values = TypeVar("Values", bound=Any)


def pool(hidden: Values, mask: Any, pooling: Pooling) -> Values:
    """Return one vector for each text, of torch or NumPy as `hidden` and `mask` are.

    *Shape:* hidden (texts, tokens, width), mask (texts, tokens), integers -> (texts, width). For `mean-all` the texts have to
    be padded to one fixed length, else the vector of a text would depend on the others. NumPy computes a mean in fp64.

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
    """The settings of an encoder; by default those of SapBERT's published evaluation.

    `length` is how many tokens of a text are read, special ones included. With `cosine`, vectors have the length 1.

    >>> EncoderSettings().update(pooling="mean").length
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
