"""From a `.bin` file of weights to safetensors. The file is unpickled, but only plain tensors are let through."""

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
    """Write a model's folder anew with safetensors, and return the number of tensors. Nothing of the old file is executed."""
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
        raise ConfigError("model-missing", f"there is no {names[paths.index(None)]} in the folder", where=str(source))
    return [path for path in paths if path]


def _shards(index: Path) -> list[str]:
    try:
        names = sorted(set(read_model_json(index)["weight_map"].values()))
        is_inside = all(Path(name).name == name for name in names)
    except (KeyError, AttributeError, TypeError) as e:
        raise InputError("model-malformed", "the index of the weights cannot be read", where=str(index)) from e
    if not is_inside:
        raise InputError("model-malformed", "the index names a file outside of the folder", where=str(index))
    return names


def _tensors(path: Path) -> dict[str, Tensor]:
    torch = _torch()
    try:
        found: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as e:  # of a hostile or damaged file torch raises whatever its parts raise
        fix = "do not trust the file, or fetch it again"
        raise InputError("model-malformed", "the file holds something else than tensors", where=str(path), fix=fix) from e
    if not isinstance(found, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in found.values()):
        raise InputError("model-malformed", "the file is not a table of tensors", where=str(path), fix="fetch it again")
    return {str(name): tensor for name, tensor in found.items()}


def _serialise(tensors: dict[str, Tensor], source: Path) -> bytes:
    from safetensors.torch import save

    try:
        if any(tensor.nbytes > tensor.untyped_storage().nbytes() for tensor in tensors.values()):
            raise ValueError("a tensor is larger than what the file holds of it")
        data: bytes = save(_unshare_tensors(tensors), metadata={"format": "pt"})
    except Exception as e:  # sparse, quantised, empty or repeated ones
        what = "the file has tensors that safetensors cannot hold"
        raise InputError("model-malformed", what, where=str(source), fix="fetch it again") from e
    return data


def _unshare_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give every tensor memory of its own, as safetensors wants; tied weights are tied again when the model is opened."""
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


def _torch() -> Any:
    try:
        import torch
    except ImportError as e:
        raise missing_extra("converting a model", "generative") from e
    return torch
