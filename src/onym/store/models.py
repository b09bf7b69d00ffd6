"""The folder of a model: fetched from the hub only on request, safe to open, and identified by a digest of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from onym.errors import ConfigError, InputError, missing_extra
from onym.store.digests import file_digest
from onym.store.model_files import find_model_file, model_files
from onym.store.model_settings import read_model_json

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
UNSAFE = ("pytorch_model.bin", "pytorch_model.bin.index.json")
ADAPTER = "adapter_config.json"
FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.md")
"""What is fetched of a model on the hub, in sub-folders too: no other form of its weights, and no code."""


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
    """Refuse a folder that leads out of itself, one without safetensors, for older files may hold code, and an adapter.

    Where `peft` is installed, transformers would add the adapter to the weights, or load others than those of the folder.
    """
    names = {path.relative_to(folder).as_posix() for path in model_files(folder)}
    if ADAPTER in names:
        fix = "merge the adapter into its model, and name the folder of the merged model"
        raise ConfigError("model-adapter", f"the folder holds an adapter ({ADAPTER})", where=str(folder), fix=fix)
    if names & {WEIGHTS, INDEX}:
        return
    if any((folder / name).is_file() for name in UNSAFE):
        fix = f"if you trust it: onym model convert {folder} -o NEW_FOLDER"
        raise ConfigError("model-unsafe", "the weights are a .bin file, which may hold code", where=str(folder), fix=fix)
    fix = "name a folder with config.json and model.safetensors"
    raise ConfigError("model-missing", "there is no model in the folder", where=str(folder), fix=fix)


def weight_files(folder: Path) -> list[Path]:
    """Return the files of a model's weights: one, or the shards that an index names and then the index.

    Each is a safetensors file among those that `model_files` returns, so that the digest of the folder covers it.
    """
    if find_model_file(folder, WEIGHTS):
        return [folder / WEIGHTS]
    index = folder / INDEX
    known = set(model_files(folder))
    if index not in known:
        return []
    shards = {folder / name for name in _shards_of(index)}
    if not shards or not shards <= known or any(path.suffix != ".safetensors" for path in shards):
        what = "the index names weights that are not among the folder's safetensors files"
        raise InputError("model-malformed", what, where=str(index), fix="fetch the model again")
    return [*sorted(shards), index]


def _shards_of(index: Path) -> set[str]:
    found = read_model_json(index)
    named = found.get("weight_map") if isinstance(found, dict) else None
    return {str(name) for name in named.values()} if isinstance(named, dict) else set()


def weights_digest(folder: Path) -> str:
    """Return the first 16 digits of the SHA-256 of a model's weights: of the file, or of every shard and their index."""
    digests = [file_digest(path) for path in weight_files(folder)]
    if len(digests) == 1:
        return digests[0][:16]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def folder_digest(folder: Path, names: Sequence[str] | None = None) -> str:
    """Return the first 16 digits of a digest of a model's folder: of the names and contents of the files that count.

    All files count that may be loaded, see `model_files`. With `names`, only these files count.

    >>> folder = getfixture("tmp_path")
    >>> before = folder_digest(folder)
    >>> _ = (folder / "config.json").write_text("{}")
    >>> folder_digest(folder) == before
    False
    """
    named = [find_model_file(folder, name) for name in names or ()]
    paths = model_files(folder) if names is None else [path for path in named if path]
    return digest_of_files([(path.relative_to(folder).as_posix(), file_digest(path)) for path in sorted(paths)])


def digest_of_files(entries: Sequence[tuple[str, str]]) -> str:
    """Return the digest of a folder by the names of its files and their SHA-256, in the order of paths.

    >>> digest_of_files([("a", "12")]) == digest_of_files([("b", "12")])
    False
    """
    return hashlib.sha256(json.dumps(list(entries)).encode()).hexdigest()[:16]
