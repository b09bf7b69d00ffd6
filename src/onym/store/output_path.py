"""Whether an output can be written, told before the work: regular files and folders alone, and none by accident.

A device, a pipe, a socket or a symbolic link is never written over, whatever is forced: it is not what a person means to lose.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from onym.errors import ConfigError

STDOUT = Path("-")
"""The output that is no file: standard output."""
_OTHERS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def require_file(path: Path, *, force: bool = False, may_stream: bool = False) -> None:
    """Refuse a file that could not be written: one that exists, unless forced, or that is none, or in a folder without rights.

    >>> require_file(Path("/dev/null"), force=True)
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-kind] a device is never written over...
    """
    if path == STDOUT and may_stream:
        _require_stdout()
        return
    mode = _mode(path, "this")
    if stat.S_ISDIR(mode):
        raise ConfigError("output-exists", "a folder has the name of the file", where=str(path), fix="name a file")
    if mode and not force:
        raise ConfigError("output-exists", "the file exists", where=str(path), fix="name another, or add --force")


def require_folder(path: Path, *, force: bool = False) -> None:
    """Refuse a folder that could not be written; an empty one may be filled, and another replaced by force.

    >>> require_folder(Path("-"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-stdout] a folder cannot be written to standard output...
    """
    mode = _mode(path, "a folder")
    if stat.S_ISREG(mode):
        raise ConfigError("output-exists", "a file has the name of the folder", where=str(path), fix="name another")
    if mode and not force and any(path.iterdir()):
        raise ConfigError("output-exists", "the folder exists", where=str(path), fix="name another, or add --force")


def require_artefact(path: Path) -> None:
    """Refuse a folder that an artefact cannot be published in: one that holds other things.

    >>> (getfixture("tmp_path") / "thesis.doc").touch()
    >>> require_artefact(getfixture("tmp_path"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-exists] the folder holds something else...
    """
    if path.is_dir():  # also by a link: what is in it is written, and the link stays
        if any(path.iterdir()) and not (path / ".lock").exists():
            fix = "name an empty or a new folder"
            raise ConfigError("output-exists", "the folder holds something else", where=str(path), fix=fix)
        _require_rights(path)
    elif stat.S_ISREG(_mode(path, "a folder")):
        raise ConfigError("output-exists", "a file stands where the artefact should go", where=str(path))


def _mode(path: Path, what: str) -> int:
    """Return what is there, 0 for nothing; refuse what is never written over, and a folder that nothing can be made in."""
    if path == STDOUT:
        raise ConfigError("output-stdout", f"{what} cannot be written to standard output", fix="name a file or a folder")
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):  # nothing; or it is told by what can be seen of the folders above
        mode = 0
    if other := _OTHERS.get(stat.S_IFMT(mode)):
        fix = "name a regular file or a new folder; - is standard output"
        raise ConfigError("output-kind", f"{other} is never written over", where=str(path), fix=fix)
    if path.name in ("", "..") or "\x00" in path.name:
        raise ConfigError("output-failed", "this is no name for an output", where=str(path), fix="name another")
    _require_rights(path.parent)
    return mode


def _require_rights(folder: Path) -> None:
    """Refuse a folder that may not be written, or, where there is none, cannot be made."""
    nearest = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), Path())
    if not nearest.is_dir():
        raise ConfigError("output-failed", "this is no folder", where=str(nearest), fix="name another folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError("output-failed", "the folder may not be written", where=str(nearest), fix="name another folder")


def _require_stdout() -> None:
    if getattr(sys.stdout, "buffer", None) is None:
        raise ConfigError("output-failed", "standard output is closed", fix="name a file")
