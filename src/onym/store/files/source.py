"""Where a release or a corpus is: one file, a folder, or a zip/tar archive, read member by member and never unpacked to disk.

It is untrusted: names that climb out of it, links that do, devices and overlapping members are refused.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from onym.errors import InputError
from onym.store.files.archives import is_tar, is_zip, tar_files, zip_files
from onym.store.files.input_file import InputFile
from onym.store.files.stream import open_regular
from onym.store.hidden import scratch_folder
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.store.output import writable


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
            found = [
                (entry.path, f"{name}/{_display_name(entry.name)}" if name else _display_name(entry.name)) for entry in entries
            ]
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


def _display_name(name: str) -> str:
    """Return the name of a file; bytes that are no UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


__all__ = ["InputFile", "SkippedEntry", "Source"]


@dataclass(frozen=True)
class Source:
    """A release or a corpus: the files in it, and the entries of a folder that are not read.

    >>> Source.of_files("demo", [InputFile.from_bytes("META/MRCONSO.RRF.gz", b"")]).find("mrconso.rrf").name
    'META/MRCONSO.RRF.gz'
    """

    name: str
    files: tuple[InputFile, ...]
    skipped: tuple[SkippedEntry, ...] = ()

    @classmethod
    def of_files(cls, name: str, files: list[InputFile]) -> Source:
        """Make a release of files, in the order of their names."""
        return cls(name, tuple(sorted(files, key=lambda f: f.name)))

    @classmethod
    def open(cls, path: Path | str, limits: Limits = DEFAULT_LIMITS, *, follow_links: bool = False) -> Source:
        """Look into a file, a folder or an archive; links out of a folder are followed only if asked for."""
        path = Path(path)
        if path.is_dir():
            files, skipped = folder_files(path, limits, follow_links=follow_links)
            return cls(path.name, tuple(files), tuple(skipped))
        file = InputFile.from_path(path, limits=limits)
        head = file.head(512)
        if path.suffix != ".xlsx" and is_zip(path, head):
            return cls.of_files(path.name, list(zip_files(path, limits)))
        if is_tar(head):
            return cls(path.name, tuple(tar_files(file, limits)))
        return cls(path.name, (file,))

    def under(self, label: str) -> Source:
        """Return the same source with a label before all names: it tells the files of several sources apart.

        >>> Source.of_files("a", [InputFile.from_bytes("1.txt", b"")]).under("left/a").files[0].name
        'left/a/1.txt'
        """
        if [file.name for file in self.files] == [self.name]:  # one file, not those of a folder
            return Source(label, (replace(self.files[0], name=label),))
        files = tuple(replace(file, name=f"{label}/{file.name}") for file in self.files)
        return Source(label, files, tuple(replace(entry, name=f"{label}/{entry.name}") for entry in self.skipped))

    def require_whole(self) -> Source:
        """Return the source itself, or refuse it if an entry of its folder cannot be read."""
        for entry in self.skipped:
            if entry.error:
                raise entry.error
        return self

    def matching(self, pattern: str) -> list[InputFile]:
        """Return the files whose base name, less `.gz` or `.zst`, matches a shell pattern in any case."""
        return [file for file in self.files if fnmatch.fnmatchcase(file.stem, pattern.lower())]

    def find(self, pattern: str) -> InputFile | None:
        """Return the first matching file, or None."""
        return next(iter(self.matching(pattern)), None)

    def require(self, pattern: str) -> InputFile:
        """Return the first matching file, or refuse the release."""
        file = self.find(pattern)
        if file is None:
            raise InputError("input-missing", f"the release has no {pattern}", where=self.name, fix="name its folder")
        return file


NAME = "stdin.txt"


@contextmanager
def spool(stream: BinaryIO) -> Iterator[Source]:
    """Give what a stream holds as a release: of one file, or of those in an archive.

    >>> import io
    >>> with spool(io.BytesIO(b"High fever.")) as source:
    ...     [(file.name, file.size) for file in source.files]
    [('stdin.txt', 11)]
    """
    with scratch_folder() as folder:
        path = folder / NAME
        with writable(path), path.open("xb") as file:
            shutil.copyfileobj(stream, file)
        yield Source.open(path)


@contextmanager
def copy_to_disk(file: InputFile, *, peek: bool = False) -> Iterator[Path]:
    """Yield the path of an unpacked copy of a file, for libraries that need one. With `peek`, it does not count as read."""
    with scratch_folder() as folder:
        path = folder / file.stem
        with file.open(peek=peek) as stream, writable(path), path.open("xb") as copy:
            shutil.copyfileobj(stream, copy)
        yield path
