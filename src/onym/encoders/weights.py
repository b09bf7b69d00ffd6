"""The tensors of a model's files: safetensors whose headers are small, in the usual types of numbers."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from onym.encoders.tensors import read_files, require_small_header
from onym.errors import InputError
from onym.store.panics import panics_as_errors

_TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of a model by their names, from its one file or from its shards."""
    return read_files(folder, read_tensors)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file, which lie where it lies until they are used."""
    from safetensors.torch import load_file

    require_small_header(path)
    try:
        with panics_as_errors():
            found: dict[str, Tensor] = load_file(path)
    except Exception as e:  # of a damaged file safetensors raises whatever its parts raise
        raise InputError("model-malformed", "the weights cannot be read", where=str(path), fix="fetch it again") from e
    if other := [str(each.dtype) for each in found.values() if each.dtype not in _TYPES]:
        what = f"a tensor is of the type {other[0].removeprefix('torch.')}, which no model here has"
        raise InputError("model-malformed", what, where=str(path), fix="save it in float32, float16 or bfloat16")
    return found
