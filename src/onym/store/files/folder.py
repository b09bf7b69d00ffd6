"""What lies in a folder: its regular files, and the entries that cannot or may not be read, each with the reason.

Nothing is dropped in silence. Nothing outside of the folder is read: a link that leads out of it is refused, unless links are
followed. A folder is listed once, under the name that is no link, so that links cannot make a listing endless.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from onym.errors import InputError
from onym.store.files.input_file import InputFile
from onym.store.files.regular import open_regular
from onym.store.limits import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """An entry of a folder that is not read: because of an `error`, or, without one, because nothing is lost by that."""

    name: str
    why: str
    error: InputError | None = None


def folder_files(
    folder: Path, limits: Limits = DEFAULT_LIMITS, *, follow_links: bool = False
) -> tuple[list[InputFile], list[SkippedEntry]]:
    """Return the files of a folder and of all folders in it, and what is skipped; both in the order of their names.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.txt").write_text("fever")
    >>> (folder / "b.txt").symlink_to("/etc/hostname")
    >>> files, skipped = folder_files(folder)
    >>> [file.name for file in files], [(entry.name, entry.error.code) for entry in skipped]
    (['a.txt'], [('b.txt', 'input-link')])
    """
    listing = _Listing(folder, limits, follow_links=follow_links)
    listing.run()
    return sorted(listing.files, key=lambda file: file.name), sorted(listing.skipped, key=lambda entry: entry.name)


class _Listing:
    """One pass over a tree of folders. Folders behind links come last: most of them are listed by then."""

    def __init__(self, root: Path, limits: Limits, *, follow_links: bool) -> None:
        self.files: list[InputFile] = []
        self.skipped: list[SkippedEntry] = []
        self._root, self._limits, self._follows = root.resolve(), limits, follow_links
        self._folders: list[tuple[Path, str]] = [(self._root, "")]
        self._linked: deque[tuple[Path, str]] = deque()
        self._listed: set[tuple[int, int]] = set()

    def run(self) -> None:
        """List everything."""
        while self._folders or self._linked:
            folder, name = self._folders.pop() if self._folders else self._linked.popleft()
            try:
                self._list(folder, name)
            except OSError as e:
                self._skip(name or folder.name, _unreadable(name or folder.name, e))

    def _list(self, folder: Path, name: str) -> None:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in self._listed:
            self.skipped.append(SkippedEntry(name, "a link to a folder that is read under another name"))
            return
        if not self._may_read(folder):
            self._skip(name, _link_out(name))
            return
        self._listed.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            found = [(entry.path, f"{name}/{_shown(entry.name)}" if name else _shown(entry.name)) for entry in entries]
        for path, its_name in found:
            try:
                self._take(Path(path), its_name)
            except OSError as e:
                self._skip(its_name, _unreadable(its_name, e))

    def _take(self, path: Path, name: str) -> None:
        is_link = path.is_symlink()
        real = Path(os.path.realpath(path)) if is_link else path  # `resolve` raises for a link to itself
        try:
            status = real.stat()
        except FileNotFoundError:
            self._skip(name, InputError("input-missing", "a link that leads to nothing", where=name, fix="remove the link"))
            return
        if stat.S_ISDIR(status.st_mode):
            (self._linked if is_link else self._folders).append((real, name))
        elif not self._may_read(real):
            self._skip(name, _link_out(name))
        elif stat.S_ISREG(status.st_mode):
            self.files.append(InputFile(name, lambda: open_regular(real), status.st_size, self._limits))
        else:
            self._skip(name, InputError("input-missing", "neither a regular file nor a folder", where=name))

    def _may_read(self, real: Path) -> bool:
        return self._follows or real.is_relative_to(self._root)

    def _skip(self, name: str, error: InputError) -> None:
        self.skipped.append(SkippedEntry(name, error.what, error))


def _link_out(name: str) -> InputError:
    what = "a link that leads out of the folder"
    return InputError("input-link", what, where=name, fix="copy the file, or add --follow-links if you trust the folder")


def _unreadable(name: str, error: OSError) -> InputError:
    return InputError("input-unreadable", f"cannot be read: {error.strerror or error}", where=name)


def _shown(name: str) -> str:
    """Return the name of a file; bytes that are no UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
