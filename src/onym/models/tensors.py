"""The tensors of a model's files as arrays, without torch; and weights in int8, which take a quarter of the bytes.

A matrix in int8 has a scale for each row, under its own name and `_scale`: a row is its integers times its scale. Every
matrix of weights is rounded by `round_rows`. What is computed with it differs: ONNX Runtime multiplies such a row in fp32
(`onnx_graph`), and torch also rounds what a layer reads, in its own tensors (`collective`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from onym.errors import InputError, LimitError, missing_extra
from onym.models.shape import read_encoder_shape
from onym.store.files.stream import read_regular
from onym.store.limits import DEFAULT_LIMITS, panics_as_errors
from onym.store.models import WEIGHTS, model_files, require_safe, weight_files
from onym.store.output import whole_folder

Value = TypeVar("Value", bound=Any)


def require_finite(values: Value, where: str = "") -> Value:
    """Return values, of torch or NumPy, that are all finite, and whose sum is; others are of a damaged or hostile model.

    The sum is looked at, which takes a tenth of the time: a number that is infinite or none makes the sum so.

    >>> require_finite(np.array([1.0, np.nan]))
    Traceback (most recent call last):
    onym.errors.InputError: [model-not-finite] the model computes with numbers that are infinite or none...
    """
    with np.errstate(all="ignore"):
        total = values.sum().item()
    if not math.isfinite(total):
        raise not_finite(where)
    return values


def not_finite(where: str = "") -> InputError:
    """Return the error of a model whose numbers are infinite or none."""
    what = "the model computes with numbers that are infinite or none"
    return InputError("model-not-finite", what, where=where, fix="fetch the model again, or use another one")


T = TypeVar("T")
Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float32]
_LENGTH = 8  # bytes that say how long the header is
_TYPES = {"F16", "F32", "F64", "I8", "I64"}
_INT8 = "I8"
_SCALE = "_scale"
_SPARE = "pooler."
_OLD_NAMES = MappingProxyType({"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"})
INT8_LARGEST = 127.0
INT8_TINY = 1e-8
"""The largest value of a row at least: a row whose values are all zero has a scale as well."""


def is_quantized(folder: Path) -> bool:
    """Return whether the weights of a model's folder are kept in int8."""
    return any(_INT8 in _read(path, _types).values() for path in _files(folder))


def read_arrays(folder: Path) -> Arrays:
    """Return the tensors of a model by their names, from its one file or from its shards."""
    return read_files(folder, _read_file)


def read_files(folder: Path, read: Callable[[Path], dict[str, T]]) -> dict[str, T]:
    """Return what is read of all files of a model's weights; of more tensors than a model may have, an error."""
    found: dict[str, T] = {}
    for path in _files(folder):
        found |= read(path)
        if len(found) > DEFAULT_LIMITS.model_tensors:
            raise LimitError("limit-model", f"more than {DEFAULT_LIMITS.model_tensors:,} tensors", where=str(path))
    return found


def has_int8(arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Return whether some of a model's weights are in int8."""
    return any(each.dtype == np.int8 for each in arrays.values())


def quantize(arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return tensors with all matrices in int8, each with the scales of its rows; the others as they are, in fp32.

    >>> small = quantize({"weight": np.array([[0.5, -1.0], [0.0, 0.0]])})
    >>> small["weight"].tolist(), [round(float(scale), 4) for scale in small["weight_scale"]]
    ([[64, -127], [0, 0]], [0.0079, 0.0])
    """
    found: Arrays = {}
    for name, values in arrays.items():
        if values.ndim != 2 or values.dtype.kind != "f":
            found[name] = values.astype(np.float32) if values.dtype.kind == "f" else values
            continue
        found[name], found[name + _SCALE] = round_rows(values, name)
    return found


def round_rows(values: npt.NDArray[Any], where: str = "") -> tuple[npt.NDArray[np.int8], Floats]:
    """Return a matrix in int8, and the scales of its rows. *Shape:* (rows, columns) -> the same, and (rows,)."""
    scales = np.maximum(np.abs(values.astype(np.float32)).max(1, initial=0), INT8_TINY) / INT8_LARGEST
    require_finite(scales, where)
    return np.round(values / scales[:, None]).astype(np.int8), scales.astype(np.float32)


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
    weights = save(quantize(read_arrays(source)))
    left_out = set(weight_files(source))
    with whole_folder(dest) as folder:
        folder.write(WEIGHTS, weights)
        for path in model_files(source):
            if path not in left_out:
                folder.write(path.relative_to(source).as_posix(), path.read_bytes())


def parameters_of(arrays: Mapping[str, npt.NDArray[Any]]) -> int:
    """Return how many parameters a model has. Scales are none, and no pooling uses the layer over the first token."""
    used = (each for name, each in arrays.items() if not name.endswith(_SCALE) and _SPARE not in name)
    return sum(each.size for each in used if each.dtype != np.int64)


def scales_of(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> Floats | None:
    """Return the scales of a matrix in int8; None of one that is not."""
    if name not in arrays or arrays[name].dtype != np.int8:
        return None
    scales = arrays.get(name + _SCALE)
    if scales is None or scales.dtype != np.float32 or scales.shape != arrays[name].shape[:1]:
        what = f"a matrix in int8 has no scales for its rows: {name}"
        raise InputError("model-malformed", what, fix="make it again from the model that it was made of")
    return scales


def require_small_header(path: Path) -> None:
    """Refuse a file of tensors whose header is large."""
    length = int.from_bytes(read_regular(path, _LENGTH), "little")
    if length > DEFAULT_LIMITS.model_header_bytes:
        what = f"its header has more than {DEFAULT_LIMITS.model_header_bytes:,} bytes"
        raise LimitError("limit-model", what, where=str(path))


@contextmanager
def open_weights(path: Path) -> Iterator[None]:
    """Refuse a file of tensors whose header is large, or that safetensors cannot read inside of the block."""
    require_small_header(path)
    try:
        with panics_as_errors():
            yield
    except Exception as e:  # of a damaged file safetensors raises whatever its parts raise
        raise InputError("model-malformed", "the weights cannot be read", where=str(path), fix="fetch it again") from e


def _modern_name(name: str) -> str:
    """Return what a weight is called now: the first BERTs had other names for those of a normalisation.

    >>> _modern_name("embeddings.LayerNorm.gamma")
    'embeddings.LayerNorm.weight'
    """
    for old, new in _OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _files(folder: Path) -> list[Path]:
    return [path for path in weight_files(folder) if path.suffix == ".safetensors"]


def _read(path: Path, read: Callable[[Any], T]) -> T:
    """Return what is read of a file of tensors, once it is open."""
    try:
        from safetensors import safe_open
    except ImportError as e:
        raise missing_extra("a model", "onnx") from e
    with open_weights(path), safe_open(path, framework="np") as file:
        return read(file)


def _read_file(path: Path) -> Arrays:
    if other := set(_read(path, _types).values()) - _TYPES:
        what = f"a tensor is of the type {min(other)}, which ONNX Runtime is not used for"
        raise InputError("model-malformed", what, where=str(path), fix="save it in float32 or float16")
    return {_modern_name(name): values for name, values in _read(path, _arrays).items()}


def _types(file: Any) -> dict[str, str]:
    return {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118 - it is no mapping


def _arrays(file: Any) -> Arrays:
    return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
