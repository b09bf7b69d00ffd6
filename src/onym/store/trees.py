"""Folders that are copied and moved as a whole: their new name has all of what is in them, or does not exist."""

from __future__ import annotations

import shutil
from pathlib import Path

from onym.store.hidden import hidden, remove_left, set_aside
from onym.store.output import sync_folder, sync_tree, whole_file, writable

_CHUNK = 16 * 1024 * 1024


def copy_folder(source: Path, dest: Path) -> None:
    """Copy a folder to a name that is not there yet.

    >>> folder = getfixture("tmp_path")
    >>> (folder / "one").mkdir()
    >>> _ = (folder / "one" / "a.txt").write_text("a")
    >>> copy_folder(folder / "one", folder / "new" / "two")
    >>> (folder / "new" / "two" / "a.txt").read_text()
    'a'
    """
    remove_left(dest)
    with writable(dest):
        dest.parent.mkdir(parents=True, exist_ok=True)
        with hidden(dest, is_folder=True) as stage:
            shutil.copytree(source, stage, dirs_exist_ok=True, copy_function=shutil.copyfile)
            sync_tree(stage)
            stage.rename(dest)
        sync_folder(dest.parent)


def copy_file(source: Path, dest: Path) -> None:
    """Copy the bytes of a file to a name that is not there yet.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.txt").write_text("a")
    >>> copy_file(folder / "a.txt", folder / "new" / "b.txt")
    >>> (folder / "new" / "b.txt").read_text()
    'a'
    """
    with source.open("rb") as data, whole_file(dest) as file:
        shutil.copyfileobj(data, file, _CHUNK)


def move_folder(source: Path, dest: Path) -> None:
    """Give a folder another name on the same disk. A folder that has that name gives it up, and is removed.

    >>> folder = getfixture("tmp_path")
    >>> for name in ("old", "new"):
    ...     (folder / name).mkdir()
    ...     (folder / name / f"{name}.txt").touch()
    >>> move_folder(folder / "new", folder / "old")
    >>> [path.name for path in sorted(folder.rglob("*"))]
    ['old', 'new.txt']
    """
    remove_left(dest)
    with writable(dest):
        dest.parent.mkdir(parents=True, exist_ok=True)
        if dest.exists():
            with set_aside(dest):
                source.rename(dest)
        else:
            source.rename(dest)
        sync_folder(dest.parent)
