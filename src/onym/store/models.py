"""The folder of a model: fetched from the hub only on request, safe to open, and identified by a digest of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from onym.errors import ConfigError, InputError, missing_extra
from onym.store.digests import file_digest
from onym.store.files.member import require_few
from onym.store.files.regular import read_regular
from onym.store.limits import DEFAULT_LIMITS

SAFE = ("model.safetensors", "model.safetensors.index.json")
UNSAFE = ("pytorch_model.bin", "pytorch_model.bin.index.json")
ADAPTER = "adapter_config.json"
FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.md")
"""What is fetched of a model on the hub, in sub-folders too: no other form of its weights, and no code."""
NOT_READ = {".bin", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx", ".ot", ".pt", ".pth", ".py", ".tflite"}
"""Files that no model is opened from: weights of other libraries, and code."""
_MAX_BYTES = 64_000_000  # of a file of settings


def folder_of(model: Path | str, files: Sequence[str] = FETCHED, *, download: bool) -> Path:
    """Return the folder of a model, fetched from the hub where that is wished.

    >>> folder = getfixture("tmp_path")
    >>> folder_of(str(folder), download=False) == folder
    True
    """
    if Path(model).is_dir():
        return Path(model)
    if not download:
        fix = "name a folder, or allow the download of a model from the hub"
        raise ConfigError("model-missing", f"there is no folder {str(model)!r}", fix=fix)
    return fetch_model(str(model), files)


def fetch_model(name: str, files: Sequence[str] = FETCHED) -> Path:
    """Fetch a model from Hugging Face's hub, or find it among those fetched before; its weights have to be safetensors."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as e:
        raise missing_extra("a model of the hub", "generative") from e
    try:
        return Path(snapshot_download(name, allow_patterns=list(files)))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as e:
        raise InputError(
            "model-missing", f"the model {name!r} could not be fetched", fix="check its name, and the network"
        ) from e


def require_safe(folder: Path) -> None:
    """Refuse a folder without safetensors, for older files of weights may hold code, and one with an adapter.

    Where `peft` is installed, transformers would add the adapter to the weights, or load others than those of the folder.
    """
    if (folder / ADAPTER).is_file():
        fix = "merge the adapter into its model, and name the folder of the merged model"
        raise ConfigError("model-adapter", f"the folder holds an adapter ({ADAPTER})", where=str(folder), fix=fix)
    if any((folder / name).is_file() for name in SAFE):
        return
    if any((folder / name).is_file() for name in UNSAFE):
        fix = f"if you trust it: onym model convert {folder} -o NEW_FOLDER"
        raise ConfigError("model-unsafe", "the weights are a .bin file, which may hold code", where=str(folder), fix=fix)
    fix = "name a folder with config.json and model.safetensors"
    raise ConfigError("model-missing", "there is no model in the folder", where=str(folder), fix=fix)


def weight_files(folder: Path) -> list[Path]:
    """Return the files of a model's weights: one, or the shards and then their index.

    They have their usual names, or those that `config.json` and an index give them.
    """
    named = _object(folder / "config.json").get("transformers_weights")
    own = {_inside(folder, named)} if isinstance(named, str) else set()
    indexes = {*folder.glob("model.safetensors.index.json"), *(path for path in own if path.suffix == ".json")}
    shards = {_inside(folder, name) for index in indexes for name in _shards_of(index)}
    weights = {*folder.glob("model*.safetensors"), *shards, *own} - indexes
    return sorted(weights) + sorted(indexes)


def _shards_of(index: Path) -> set[str]:
    named = _object(index).get("weight_map")
    return {str(name) for name in named.values()} if isinstance(named, dict) else set()


def _object(path: Path) -> dict[str, Any]:
    """Return an object of a small JSON file; one that is missing or damaged is empty: opening the model says so."""
    try:
        found = json.loads(read_regular(path, _MAX_BYTES)) if path.is_file() else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _inside(folder: Path, name: str) -> Path:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError("model-malformed", "its weights lie outside of the folder", where=str(folder), fix="fetch it again")
    return folder / name


def weights_digest(folder: Path) -> str:
    """Return the first 16 digits of the SHA-256 of a model's weights: of the file, or of the index and every shard."""
    digests = [file_digest(path) for path in weight_files(folder)]
    if len(digests) == 1:
        return digests[0][:16]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def folder_digest(folder: Path, names: Sequence[str] | None = None) -> str:
    """Return the first 16 digits of a digest of a model's folder: of the names and contents of the files that count.

    All files count, in sub-folders and behind links too, but for hidden ones and those that no model is opened from: weights of
    other libraries, and code. With `names`, only these files count.

    >>> folder = getfixture("tmp_path")
    >>> before = folder_digest(folder)
    >>> _ = (folder / "config.json").write_text("{}")
    >>> folder_digest(folder) == before
    False
    """
    paths = model_files(folder) if names is None else [folder / name for name in names if (folder / name).is_file()]
    entries = [(path.relative_to(folder).as_posix(), file_digest(path)) for path in sorted(paths)]
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()[:16]


def model_files(folder: Path) -> list[Path]:
    """Return the files of a model's folder that count, see `folder_digest`."""
    found = list(islice(_iter_files(folder, ()), DEFAULT_LIMITS.archive_members + 1))
    require_few(len(found), folder.name, DEFAULT_LIMITS)
    weights = [path for path in weight_files(folder) if path.is_file()]  # whatever an index calls them
    return list({*weights, *(path for path in found if path.suffix.lower() not in NOT_READ)})


def _iter_files(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    own = folder.resolve()
    if own in above:  # a link to a folder that holds it
        return
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _iter_files(path, (*above, own))
        elif path.is_file():
            yield path
