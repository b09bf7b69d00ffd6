"""Model folders: fetched from the Hugging Face Hub only on request, checked for unsafe files, identified by a digest."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Self

from pydantic import ValidationError

from onym.config import Strict
from onym.errors import ConfigError, InputError, LimitError, missing_extra
from onym.store.cache import file_digest
from onym.store.files.archives import require_few
from onym.store.files.stream import is_there, read_regular
from onym.store.limits import DEFAULT_LIMITS

NOT_READ = {".bin", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx", ".ot", ".pt", ".pth", ".py", ".tflite"}
"""File types that are never loaded: other weight formats, and code."""
_FIX = "copy the files themselves into the folder, or fetch the model again"


def model_files(folder: Path) -> list[Path]:
    """Return the files of a model folder that may be loaded, including those in subfolders.

    Hidden files and file types that are never loaded are skipped. Links that lead out of the folder, links to folders, pipes
    and devices are rejected.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "config.json").write_text("{}"), (folder / "code.py").write_text("")
    >>> [path.name for path in model_files(folder)]
    ['config.json']
    """
    found = list(islice(_iter_entries(folder), DEFAULT_LIMITS.archive_members + 1))
    require_few(len(found), folder.name, DEFAULT_LIMITS)
    return sorted(require_inside(folder, path) for path in found if not path.is_dir() or path.is_symlink())


def find_model_file(folder: Path, name: str) -> Path | None:
    """Return the path of a file in a model folder, or None if it is missing; reject a link that leads out of the folder.

    >>> find_model_file(getfixture("tmp_path"), "config.json") is None
    True
    """
    path = folder / name
    try:
        return require_inside(folder, path) if is_there(path) else None
    except OSError as e:
        raise _unreadable(e, path) from e


def require_inside(folder: Path, path: Path) -> Path:
    """Return `path`; raise InputError unless it is a regular file inside the folder."""
    try:
        target = path.resolve(strict=True)
        is_regular = stat.S_ISREG(target.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError, RuntimeError) as e:  # a dangling link, or a link to itself
        raise InputError("model-outside", "broken link", where=str(path), fix=_FIX) from e
    except OSError as e:
        raise _unreadable(e, path) from e
    if target.parent not in _folders_of(folder) and not target.is_relative_to(folder.resolve()):
        raise InputError("model-outside", "a link leads out of the model's folder", where=str(path), fix=_FIX)
    if not is_regular:
        what = "a link to a folder" if path.is_symlink() and target.is_dir() else "not a regular file"
        raise InputError("model-outside", f"the folder entry is {what}", where=str(path), fix=_FIX)
    return path


def _folders_of(folder: Path) -> list[Path]:
    """Return other folders that links may lead to. In the Hugging Face cache, snapshots link to `blobs`, two levels up."""
    above = folder.resolve().parents
    is_snapshot = len(above) > 1 and above[0].name == "snapshots" and above[1].name.startswith("models--")
    return [above[1] / "blobs"] if is_snapshot else []


def _iter_entries(folder: Path) -> Iterator[Path]:
    """Yield files, links and subfolders recursively, without following links."""
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if entry.name.startswith(".") or (not is_folder and Path(entry.name).suffix.lower() in NOT_READ):
                        continue
                    if is_folder:
                        folders.append(Path(entry.path))
                    yield Path(entry.path)
        except OSError as e:
            raise _unreadable(e, folder) from e


def _unreadable(error: OSError, path: Path) -> InputError:
    return InputError("input-unreadable", f"cannot be read: {error.strerror or error}", where=str(path))


class FolderSettings(Strict):
    """Base class for model settings stored as `FILE` in the model's folder.

    >>> class Colours(FolderSettings):
    ...     FILE = "colours.json"
    ...     red: int = 1
    >>> Colours.read(getfixture("tmp_path")).update(red=0), Colours().update(red=None)
    (Colours(red=0), Colours(red=1))
    """

    FILE: ClassVar[str]

    def update(self, **changes: Any) -> Self:
        """Return a copy with the given values; None leaves a value unchanged."""
        return self.model_validate(self.model_dump() | {name: value for name, value in changes.items() if value is not None})

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        return self.model_dump_json(indent=1).encode() + b"\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the settings from a model folder; if the file is missing, return the defaults."""
        path = find_model_file(folder, cls.FILE)
        if path is None:
            return cls()
        try:
            return cls.model_validate(read_model_json(path))
        except ValidationError as e:
            what = f"{'.'.join(map(str, e.errors()[0]['loc'])) or 'the file'}: {e.errors()[0]['msg']}"
            raise _make_error(path, what) from e


def read_model_json(path: Path) -> Any:
    """Parse a small JSON file of a model folder; reject NaN and infinity.

    >>> path = getfixture("tmp_path") / "config.json"
    >>> _ = path.write_text('{"layer_norm_eps": NaN}')
    >>> read_model_json(path)
    Traceback (most recent call last):
    onym.errors.InputError: [model-malformed] the file is not valid JSON, or contains NaN or infinity...
    """
    try:
        return json.loads(read_small(path), parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as e:
        raise _make_error(path, "the file is not valid JSON, or contains NaN or infinity") from e


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("not finite")
    return value


def read_small(path: Path) -> bytes:
    """Return the content of a settings file; raise LimitError if the file is too large."""
    data = read_regular(path, DEFAULT_LIMITS.model_json_bytes + 1)
    if len(data) > DEFAULT_LIMITS.model_json_bytes:
        raise LimitError("limit-model", f"settings larger than {DEFAULT_LIMITS.model_json_bytes:,} bytes", where=str(path))
    return data


def _make_error(path: Path, what: str) -> InputError:
    return InputError("model-malformed", what, where=str(path), fix="fetch the model again")


WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
UNSAFE = ("pytorch_model.bin", "pytorch_model.bin.index.json")
ADAPTER = "adapter_config.json"
FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.md")
"""Files fetched from the hub, also in subfolders: no other weight formats, and no code."""


def folder_of(model: Path | str, files: Sequence[str] = FETCHED, *, download: bool) -> Path:
    """Return the folder of a model. If `model` is not a local folder and `download` is set, fetch it from the hub.

    >>> folder = getfixture("tmp_path")
    >>> folder_of(str(folder), download=False) == folder
    True
    """
    if Path(model).is_dir():
        return Path(model)
    if not download:
        fix = "give a folder, or allow the download of a model from the hub"
        raise ConfigError("model-missing", f"there is no folder {str(model)!r}", fix=fix)
    return fetch_model(str(model), files)


def fetch_model(name: str, files: Sequence[str] = FETCHED) -> Path:
    """Fetch a model from the Hugging Face Hub or its local cache; only safetensors weights are fetched."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as e:
        raise missing_extra("a model of the hub", "models") from e
    try:
        return Path(snapshot_download(name, allow_patterns=list(files)))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as e:
        raise InputError(
            "model-missing", f"the model {name!r} could not be fetched", fix="check the model name and the network"
        ) from e


def require_safe(folder: Path) -> None:
    """Reject a model folder that has links to outside, an adapter, or no safetensors file (`.bin` files may contain code).

    An adapter is rejected because, with `peft` installed, transformers would apply it or load weights from elsewhere.
    """
    names = {path.relative_to(folder).as_posix() for path in model_files(folder)}
    if ADAPTER in names:
        fix = "merge the adapter into its base model, and give the folder of the merged model"
        raise ConfigError("model-adapter", f"the folder contains an adapter ({ADAPTER})", where=str(folder), fix=fix)
    if names & {WEIGHTS, INDEX}:
        return
    if any((folder / name).is_file() for name in UNSAFE):
        fix = f"if you trust it: onym model convert {folder} -o NEW_FOLDER"
        raise ConfigError("model-unsafe", "the weights are a .bin file, which may contain code", where=str(folder), fix=fix)
    fix = "give a folder with config.json and model.safetensors"
    raise ConfigError("model-missing", "the folder contains no model", where=str(folder), fix=fix)


def weight_files(folder: Path) -> list[Path]:
    """Return the weight files of a model: a single file, or all shards listed in the index file and then the index file.

    `model_files` returns these files too, so that the folder digest covers them.
    """
    if find_model_file(folder, WEIGHTS):
        return [folder / WEIGHTS]
    index = folder / INDEX
    known = set(model_files(folder))
    if index not in known:
        return []
    shards = {folder / name for name in _shards_of(index)}
    if not shards or not shards <= known or any(path.suffix != ".safetensors" for path in shards):
        what = "the index lists weights that are not safetensors files in the folder"
        raise InputError("model-malformed", what, where=str(index), fix="fetch the model again")
    return [*sorted(shards), index]


def _shards_of(index: Path) -> set[str]:
    found = read_model_json(index)
    named = found.get("weight_map") if isinstance(found, dict) else None
    return {str(name) for name in named.values()} if isinstance(named, dict) else set()


def weights_digest(folder: Path) -> str:
    """Return the first 16 hex digits of the weight file's SHA-256; for several files, of the SHA-256 of their digests."""
    digests = [file_digest(path) for path in weight_files(folder)]
    if len(digests) == 1:
        return digests[0][:16]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def folder_digest(folder: Path, names: Sequence[str] | None = None, *, with_pages: bool = False) -> str:
    """Return a digest (16 hex digits) of the names and contents of a model folder's files.

    The digest covers the files in `names`, by default all that `model_files` returns. `*.md` files are included only if
    `with_pages` is set, for pipelines and packs of earlier versions, whose digests included these files.

    >>> folder = getfixture("tmp_path")
    >>> before = folder_digest(folder)
    >>> _ = (folder / "README.md").write_text("A model."), (folder / "config.json").write_text("{}")
    >>> folder_digest(folder) == before, folder_digest(folder) == folder_digest(folder, ["config.json"])
    (False, True)
    """
    named = [find_model_file(folder, name) for name in names or ()]
    paths = model_files(folder) if names is None else [path for path in named if path]
    digests = {path.relative_to(folder).as_posix(): file_digest(path) for path in paths}
    return digest_of_files(digests, with_pages=with_pages)


def digest_of_files(files: Mapping[str, str], *, with_pages: bool = False) -> str:
    """Return the same digest as `folder_digest`, but for given file names and their SHA-256 digests.

    >>> digest_of_files({"a": "12"}) == digest_of_files({"b": "12"})
    False
    """
    counted = [name for name in sorted(files, key=PurePosixPath) if with_pages or not name.lower().endswith(".md")]
    return hashlib.sha256(json.dumps([(name, files[name]) for name in counted]).encode()).hexdigest()[:16]
