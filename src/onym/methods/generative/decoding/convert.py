"""Converts pickled `.bin` weights to safetensors. Unpickling is restricted to plain tensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from onym.errors import ConfigError, InputError, missing_extra
from onym.store.files.stream import read_regular
from onym.store.models import find_model_file, model_files, read_model_json
from onym.store.output import require_folder, whole_folder

if TYPE_CHECKING:
    from torch import Tensor

_KEPT = (".json", ".txt", ".model")
_MAX_KEPT = 1_000_000_000  # bytes
_INDEX = "pytorch_model.bin.index.json"


def convert_weights(source: Path, dest: Path, *, force: bool = False) -> int:
    """Write a copy of a model's folder with safetensors; return the number of tensors. No code in the old file is executed."""
    require_folder(dest, force=force)
    parts = _parts(source)
    kept = [path for path in model_files(source) if path.parent == source and path.suffix in _KEPT and path.name != _INDEX]
    tensors: dict[str, Tensor] = {}
    for path in parts:
        tensors |= _tensors(path)
    data = _serialise(tensors, source)
    with whole_folder(dest, force=force) as folder:
        for path in kept:
            with folder.file(path.name) as file:
                file.write(read_regular(path, _MAX_KEPT))
        with folder.file("model.safetensors") as file:
            file.write(data)
    return len(tensors)


def _parts(source: Path) -> list[Path]:
    index = find_model_file(source, _INDEX)
    names = _shards(index) if index else ["pytorch_model.bin"]
    paths = [find_model_file(source, name) for name in names]
    if None in paths:
        raise ConfigError("model-missing", f"{names[paths.index(None)]} is missing in the folder", where=str(source))
    return [path for path in paths if path]


def _shards(index: Path) -> list[str]:
    try:
        names = sorted(set(read_model_json(index)["weight_map"].values()))
        is_inside = all(Path(name).name == name for name in names)
    except (KeyError, AttributeError, TypeError) as e:
        raise InputError("model-malformed", "the index of the weight files is malformed", where=str(index)) from e
    if not is_inside:
        raise InputError("model-malformed", "the index lists a file outside the folder", where=str(index))
    return names


def _tensors(path: Path) -> dict[str, Tensor]:
    torch = _torch()
    try:
        found: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as e:  # torch raises all kinds of exceptions for hostile or damaged files
        fix = "download the file again, and do not use it if that does not help: it may contain code"
        raise InputError("model-malformed", "the file contains objects other than tensors", where=str(path), fix=fix) from e
    if not isinstance(found, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in found.values()):
        what = "the file is not a dict of tensors"
        raise InputError("model-malformed", what, where=str(path), fix="download the file again")
    return {str(name): tensor for name, tensor in found.items()}


def _serialise(tensors: dict[str, Tensor], source: Path) -> bytes:
    from safetensors.torch import save

    try:
        if any(tensor.nbytes > tensor.untyped_storage().nbytes() for tensor in tensors.values()):
            raise ValueError("a tensor is larger than its storage")
        data: bytes = save(_unshare_tensors(tensors), metadata={"format": "pt"})
    except Exception as e:  # raised for sparse, quantised, empty or expanded tensors
        what = "the file has tensors that safetensors cannot store"
        raise InputError("model-malformed", what, where=str(source), fix="download the model again") from e
    return data


def _unshare_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy every tensor, because safetensors rejects tensors that share memory. Loading the model ties the weights again."""
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


def _torch() -> Any:
    try:
        import torch
    except ImportError as e:
        raise missing_extra("converting a model", "models") from e
    return torch
