"""Read the weights of a model as NumPy arrays, without torch, and quantise them to int8, a quarter of the size.

An int8 matrix has one scale per row, stored under its name plus `_scale`; the values of a row are its integers times its scale.
All weights are quantised by `round_rows`. ONNX Runtime dequantises them and multiplies in fp32 (`onnx_graph`); torch also
quantises the activations (`collective`).
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
_HALF = 2  # size of a float16 in bytes


def require_finite(values: Value, where: str = "") -> Value:
    """Return the values (torch or NumPy); raise InputError if any is NaN or infinite, as in a damaged or hostile model.

    A finite sum proves that all values are finite, and is ten times faster than a check of each value. Sums of float16 values
    overflow easily, so if such a sum is not finite, minimum and maximum are checked. In other dtypes, finite values whose sum
    overflows are rejected too.

    >>> require_finite(np.array([1.0, np.nan]))
    Traceback (most recent call last):
    onym.errors.InputError: [model-not-finite] the weights or outputs of the model contain NaN or infinity...
    """
    with np.errstate(all="ignore"):
        total = values.sum().item()
    if not math.isfinite(total) and not (values.itemsize == _HALF and _has_finite_extremes(values)):
        raise not_finite(where)
    return values


def _has_finite_extremes(values: Any) -> bool:
    return math.isfinite(values.min().item()) and math.isfinite(values.max().item())


def not_finite(where: str = "") -> InputError:
    """Build the error for a model whose weights or outputs contain NaN or infinity."""
    what = "the weights or outputs of the model contain NaN or infinity"
    return InputError("model-not-finite", what, where=where, fix="download the model again, or use another model")


T = TypeVar("T")
Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float32]
_LENGTH = 8  # a safetensors file begins with the length of its header, a number of 8 bytes
_TYPES = {"F16", "F32", "F64", "I8", "I64"}
_INT8 = "I8"
_SCALE = "_scale"
_SPARE = "pooler."  # name prefix of the pooler layer, which none of our poolings uses
_OLD_NAMES = MappingProxyType({"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"})
INT8_LARGEST = 127.0
INT8_TINY = 1e-8
"""Lower bound of the largest value of a row, so that the scale of an all-zero row is not 0."""


def is_quantized(folder: Path) -> bool:
    """Return whether a model's folder has int8 weights."""
    return any(_INT8 in _read(path, _types).values() for path in _files(folder))


def read_arrays(folder: Path) -> Arrays:
    """Read the tensors of a model by name, from a single file or from shards."""
    return read_files(folder, read_file)


def read_files(folder: Path, read: Callable[[Path], dict[str, T]]) -> dict[str, T]:
    """Apply `read` to all weight files of a model and merge the results; raise LimitError for too many tensors."""
    found: dict[str, T] = {}
    for path in _files(folder):
        found |= read(path)
        if len(found) > DEFAULT_LIMITS.model_tensors:
            raise LimitError("limit-model", f"more than {DEFAULT_LIMITS.model_tensors:,} tensors", where=str(path))
    return found


def has_int8(arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Return whether any of the arrays is int8."""
    return any(each.dtype == np.int8 for each in arrays.values())


def quantize(arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Quantise all float matrices to int8, with scales per row; other float arrays become fp32.

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
    """Quantise a matrix to int8. *Shape:* (rows, columns) -> int8 (rows, columns) and scales (rows,)."""
    scales = np.maximum(np.abs(values.astype(np.float32)).max(1, initial=0), INT8_TINY) / INT8_LARGEST
    require_finite(scales, where)
    return np.round(values / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def write_quantized(source: Path, dest: Path) -> None:
    """Write a copy of an encoder's folder with int8 weights.

    Raises an error before writing if ONNX Runtime does not support the encoder.
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
    """Return the number of parameters, without int8 scales and the unused pooler layer."""
    used = (each for name, each in arrays.items() if not name.endswith(_SCALE) and _SPARE not in name)
    return sum(each.size for each in used if each.dtype != np.int64)


def scales_of(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> Floats | None:
    """Return the row scales of an int8 matrix; None if it is not int8."""
    if name not in arrays or arrays[name].dtype != np.int8:
        return None
    scales = arrays.get(name + _SCALE)
    if scales is None or scales.dtype != np.float32 or scales.shape != arrays[name].shape[:1]:
        what = f"the int8 matrix {name} has no valid row scales"
        raise InputError("model-malformed", what, fix="quantise the original model again")
    return scales


def require_small_header(path: Path) -> None:
    """Raise LimitError if the header of a safetensors file is too large."""
    length = int.from_bytes(read_regular(path, _LENGTH), "little")
    if length > DEFAULT_LIMITS.model_header_bytes:
        what = f"the safetensors header has more than {DEFAULT_LIMITS.model_header_bytes:,} bytes"
        raise LimitError("limit-model", what, where=str(path))


@contextmanager
def open_weights(path: Path) -> Iterator[None]:
    """Check the header of a safetensors file, and turn exceptions inside the block into InputError."""
    require_small_header(path)
    try:
        with panics_as_errors():
            yield
    except Exception as e:  # safetensors raises various exceptions for damaged files
        raise InputError(
            "model-malformed", "the weights cannot be read", where=str(path), fix="download the model again"
        ) from e


def _modern_name(name: str) -> str:
    """Return the current name of a weight; early BERT models named LayerNorm weights differently.

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
    """Open a safetensors file and return the result of `read`."""
    try:
        from safetensors import safe_open
    except ImportError as e:
        raise missing_extra("a model", "onnx") from e
    with open_weights(path), safe_open(path, framework="np") as file:
        return read(file)


def read_file(path: Path) -> Arrays:
    """Read the tensors of one file by name."""
    if other := set(_read(path, _types).values()) - _TYPES:
        what = f"a tensor has the type {min(other)}, which is not supported on ONNX Runtime"
        raise InputError("model-malformed", what, where=str(path), fix="save the model in float32 or float16")
    return {_modern_name(name): values for name, values in _read(path, _arrays).items()}


def _types(file: Any) -> dict[str, str]:
    return {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118 - not a mapping


def _arrays(file: Any) -> Arrays:
    return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
