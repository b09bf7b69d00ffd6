"""The files that a model's folder consists of: regular files inside of it. Nothing else of a folder is ever opened.

A link may lead to another file of the folder, or, in the cache of the hub, from a snapshot to the content that it names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from onym.errors import InputError
from onym.store.files.member import require_few
from onym.store.files.regular import is_there
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
