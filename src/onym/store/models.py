"""The folder of a model: fetched from the hub only on request, safe to open, and identified by a digest of its files."""

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
"""Files that no model is opened from: weights of other libraries, and code."""
_FIX = "copy the files themselves into the folder, or fetch the model again"


def model_files(folder: Path) -> list[Path]:
    """Return the files of a model's folder that count, in sub-folders too: what may be loaded, and no more.

    Left out are hidden ones and those that no model is opened from. A link that leads out, a link to a folder, a pipe or a
    device is refused.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "config.json").write_text("{}"), (folder / "code.py").write_text("")
    >>> [path.name for path in model_files(folder)]
    ['config.json']
    """
    found = list(islice(_iter_entries(folder), DEFAULT_LIMITS.archive_members + 1))
    require_few(len(found), folder.name, DEFAULT_LIMITS)
    return sorted(require_inside(folder, path) for path in found if not path.is_dir() or path.is_symlink())


def find_model_file(folder: Path, name: str) -> Path | None:
    """Return the file of that name in a model's folder, which has to be one of its own; None if there is none.

    >>> find_model_file(getfixture("tmp_path"), "config.json") is None
    True
    """
    path = folder / name
    try:
        return require_inside(folder, path) if is_there(path) else None
    except OSError as e:
        raise _unreadable(e, path) from e


def require_inside(folder: Path, path: Path) -> Path:
    """Return a path of a folder that is a regular file inside of it."""
    try:
        target = path.resolve(strict=True)
        is_regular = stat.S_ISREG(target.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError, RuntimeError) as e:  # a link to nothing, or to itself
        raise InputError("model-outside", "a link leads nowhere", where=str(path), fix=_FIX) from e
    except OSError as e:
        raise _unreadable(e, path) from e
    if target.parent not in _folders_of(folder) and not target.is_relative_to(folder.resolve()):
        raise InputError("model-outside", "a link leads out of the model's folder", where=str(path), fix=_FIX)
    if not is_regular:
        what = "a link to a folder" if path.is_symlink() and target.is_dir() else "no regular file"
        raise InputError("model-outside", f"it is {what}", where=str(path), fix=_FIX)
    return path


def _folders_of(folder: Path) -> list[Path]:
    """Return where links may lead besides the folder: a snapshot of the hub has its content in `blobs`, two folders above."""
    above = folder.resolve().parents
    is_snapshot = len(above) > 1 and above[0].name == "snapshots" and above[1].name.startswith("models--")
    return [above[1] / "blobs"] if is_snapshot else []


def _iter_entries(folder: Path) -> Iterator[Path]:
    """Yield files, links and folders, without following links."""
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
    """Settings of a model that are kept as `FILE` in its folder.

    >>> class Colours(FolderSettings):
    ...     FILE = "colours.json"
    ...     red: int = 1
    >>> Colours.read(getfixture("tmp_path")).update(red=0), Colours().update(red=None)
    (Colours(red=0), Colours(red=1))
    """

    FILE: ClassVar[str]

    def update(self, **changes: Any) -> Self:
        """Return these settings with changes; None changes nothing."""
        return self.model_validate(self.model_dump() | {name: value for name, value in changes.items() if value is not None})

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        return self.model_dump_json(indent=1).encode() + b"\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the settings of a folder; one without the file has those that the class has by itself."""
        path = find_model_file(folder, cls.FILE)
        if path is None:
            return cls()
        try:
            return cls.model_validate(read_model_json(path))
        except ValidationError as e:
            what = f"{'.'.join(map(str, e.errors()[0]['loc'])) or 'the file'}: {e.errors()[0]['msg']}"
            raise _make_error(path, what) from e


def read_model_json(path: Path) -> Any:
    """Return the value of a small JSON file of a model's folder, all of whose numbers are finite.

    >>> path = getfixture("tmp_path") / "config.json"
    >>> _ = path.write_text('{"layer_norm_eps": NaN}')
    >>> read_model_json(path)
    Traceback (most recent call last):
    onym.errors.InputError: [model-malformed] the file is not valid JSON, or a number in it is none...
    """
    try:
        return json.loads(read_small(path), parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as e:
        raise _make_error(path, "the file is not valid JSON, or a number in it is none") from e


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("not finite")
    return value


def read_small(path: Path) -> bytes:
    """Return the content of a file of settings, which has to be small."""
    data = read_regular(path, DEFAULT_LIMITS.model_json_bytes + 1)
    if len(data) > DEFAULT_LIMITS.model_json_bytes:
        raise LimitError("limit-model", f"more than {DEFAULT_LIMITS.model_json_bytes:,} bytes of settings", where=str(path))
    return data


def _make_error(path: Path, what: str) -> InputError:
    return InputError("model-malformed", what, where=str(path), fix="fetch the model again")


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


def folder_digest(folder: Path, names: Sequence[str] | None = None, *, with_pages: bool = False) -> str:
    """Return the first 16 digits of a digest of a model's folder: of the names and contents of the files that count.

    These are the files that may be loaded, see `model_files`, or those in `names`. Pages for people (`*.md`) do not count,
    unless `with_pages` is set: they did in earlier versions, whose pipelines and packs must open.

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
    """Return the digest of a folder by the names of its files and the SHA-256 of each, as `folder_digest` does.

    >>> digest_of_files({"a": "12"}) == digest_of_files({"b": "12"})
    False
    """
    counted = [name for name in sorted(files, key=PurePosixPath) if with_pages or not name.lower().endswith(".md")]
    return hashlib.sha256(json.dumps([(name, files[name]) for name in counted]).encode()).hexdigest()[:16]
