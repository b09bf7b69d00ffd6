"""The folder of a model: fetched from the hub only where that is asked for, and with weights that cannot hold code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from onym.errors import ConfigError, InputError, missing_extra
from onym.store.files.source import InputFile

SAFE = ("model.safetensors", "model.safetensors.index.json")
UNSAFE = ("pytorch_model.bin", "pytorch_model.bin.index.json")
FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model", "names/*.json", "names/*.safetensors")
"""What is fetched of a model on the hub: no other form of its weights, and no code."""


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
    """Refuse a folder without safetensors: older files of weights may hold code."""
    if any((folder / name).is_file() for name in SAFE):
        return
    if any((folder / name).is_file() for name in UNSAFE):
        fix = f"if you trust it: onym model convert {folder} -o NEW_FOLDER"
        raise ConfigError("model-unsafe", "the weights are a .bin file, which may hold code", where=str(folder), fix=fix)
    fix = "name a folder with config.json and model.safetensors"
    raise ConfigError("model-missing", "there is no model in the folder", where=str(folder), fix=fix)


def weight_files(folder: Path) -> list[Path]:
    """Return the files of a model's weights: one, or the shards and then their index."""
    return sorted(folder.glob("model*.safetensors")) + sorted(folder.glob("model.safetensors.index.json"))


def weights_digest(folder: Path) -> str:
    """Return the first 16 digits of the SHA-256 of a model's weights: of the file, or of the index and every shard."""
    digests = [InputFile.from_path(path).digest() for path in weight_files(folder)]
    if len(digests) == 1:
        return digests[0][:16]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def folder_digest(folder: Path, files: Sequence[str] = FETCHED) -> str:
    """Return the first 16 digits of a digest of all that a model's answers depend on: weights, settings, tokenizer.

    `files` are patterns, where only some of them are needed.

    >>> folder = getfixture("tmp_path")
    >>> before = folder_digest(folder)
    >>> _ = (folder / "config.json").write_text("{}")
    >>> folder_digest(folder) == before
    False
    """
    found = sorted({path for pattern in files for path in folder.glob(pattern) if path.is_file()})
    entries = [(path.relative_to(folder).as_posix(), InputFile.from_path(path).digest()) for path in found]
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()[:16]
