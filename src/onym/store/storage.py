"""Folders that many processes and machines write to concurrently: on a file system or an object store.

Files are published atomically, and if several writers publish the same name, the last one wins. On a file system, a hidden file
is synced and renamed; on an object store, an object is visible only once its upload is complete.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from onym.errors import ConfigError, InputError
from onym.store.files.source import InputFile, Source
from onym.store.files.stream import open_regular
from onym.store.hidden import make_folder, make_hidden, remove_all_left
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.store.output import sync_folder, writable

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEMES = ("s3://",)
_FIX = "check the URL, the credentials and the region"


def is_address(url: str | Path) -> bool:
    """Return whether this is a URL of an object store.

    >>> is_address("s3://bucket/run"), is_address("run")
    (True, False)
    """
    return str(url).startswith(SCHEMES)


def absolute(url: str | Path) -> str:
    """Return a URL unchanged; make a path absolute, so that it is valid in any working directory.

    >>> absolute("s3://bucket/run"), Path(absolute("run")).is_absolute()
    ('s3://bucket/run', True)
    """
    return str(url) if is_address(url) else str(Path(url).resolve())


def open_object_store(url: str) -> tuple[FileSystem, str]:
    """Return the file system of an object store URL, and the path in it."""
    from pyarrow.fs import FileSystem, S3FileSystem

    if "@" in url or "?" in url:
        fix = "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL etc. in the environment instead"
        raise ConfigError("config-invalid", "the URL must not contain credentials or settings", where="s3", fix=fix)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    with code_store_errors(url):
        if endpoint:
            return S3FileSystem(endpoint_override=endpoint), url.partition("://")[2].rstrip("/")
        files, path = FileSystem.from_uri(url)
        return files, path.rstrip("/")


@contextmanager
def code_store_errors(url: str) -> Iterator[None]:
    """Convert errors of the object store to InputError."""
    try:
        yield
    except (OSError, ValueError) as e:
        raise InputError(
            "input-missing", "the object store denied the request or cannot be reached", where=url, fix=_FIX
        ) from e


def open_object(files: FileSystem, path: str) -> BinaryIO:
    """Open an object as a seekable file; raise FileNotFoundError if it is missing."""
    file: Any = files.open_input_file(path)
    return io.BufferedReader(file)


def object_source(url: str, limits: Limits = DEFAULT_LIMITS) -> Source:
    """Return an object, or all objects under a prefix, as a source; archives are not opened."""
    from pyarrow.fs import FileSelector, FileType

    files, path = open_object_store(url)
    with code_store_errors(url):
        found = files.get_file_info(path)
        infos = [found] if found.type == FileType.File else files.get_file_info(FileSelector(path, recursive=True))
    base = len(path.rpartition("/")[0] if found.type == FileType.File else path) + 1

    def file_of(info: Any) -> InputFile:
        return InputFile(info.path[base:], lambda: open_object(files, info.path), info.size, limits)

    return Source.of_files(path.rpartition("/")[2], [file_of(info) for info in infos if info.type == FileType.File])


class Storage(Protocol):
    """A folder of files. File names may contain subfolders, as in `a/b.txt`."""

    url: str

    def names(self, folder: str) -> set[str]:
        """Return the names of the files in a folder; empty if the folder does not exist."""

    def open(self, name: str) -> BinaryIO:
        """Open a seekable file for reading; raise FileNotFoundError if it is missing."""

    def publish(self, name: str, *, once: bool = False) -> AbstractContextManager[BinaryIO]:
        """Write a file atomically. With `once`, raise FileExistsError if it already exists."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def clean(self, folder: str) -> None:
        """Remove temp files that killed writers left in a folder."""


def open_storage(url: str | Path) -> Storage:
    """Return the storage for a path or for a URL such as `s3://bucket/runs`.

    >>> storage = open_storage(getfixture("tmp_path"))
    >>> with storage.publish("shards/0.parquet") as file:
    ...     _ = file.write(b"whole")
    >>> with storage.open("shards/0.parquet") as file:
    ...     storage.names("shards"), file.read()
    ({'0.parquet'}, b'whole')
    """
    text = str(url)
    if is_address(text):
        return ObjectStorage(text, *open_object_store(text))
    if "://" in text:
        fix = f"use a folder, or a URL that starts with {', '.join(SCHEMES)}"
        raise ConfigError("config-invalid", "unsupported URL scheme", where=text.partition("://")[0], fix=fix)
    return LocalStorage(Path(text))


class LocalStorage:
    """A folder on a local or shared file system."""

    def __init__(self, folder: Path) -> None:
        self.url, self._folder = str(folder), folder

    def names(self, folder: str) -> set[str]:
        """Return the names of the files in a folder."""
        try:
            with os.scandir(self._folder / folder) as entries:
                return {entry.name for entry in entries if entry.is_file(follow_symlinks=False) and entry.name[0] != "."}
        except FileNotFoundError:
            return set()
        except NotADirectoryError as e:
            what = "not a folder"
            raise ConfigError(
                "output-failed", what, where=str(self._folder / folder), fix="remove this file, or use another folder"
            ) from e

    def open(self, name: str) -> BinaryIO:
        """Open a file."""
        return io.BufferedReader(open_regular(self._folder / name))

    @contextmanager
    def publish(self, name: str, *, once: bool = False) -> Iterator[BinaryIO]:
        """Write a hidden temp file, sync it and rename it."""
        path = self._folder / name
        with writable(path):
            make_folder(path.parent)
            with make_hidden(path) as new:
                with new.open("wb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                if once:
                    os.link(new, path)
                else:
                    new.replace(path)
            sync_folder(path.parent)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with suppress(FileNotFoundError):
            (self._folder / name).unlink()

    def clean(self, folder: str) -> None:
        """Remove temp files that no process has locked."""
        remove_all_left(self._folder / folder)


class ObjectStorage:
    """A prefix in an object store, accessed through Arrow."""

    def __init__(self, url: str, files: FileSystem, prefix: str) -> None:
        self.url, self._files, self._prefix = url, files, prefix

    def names(self, folder: str) -> set[str]:
        """Return the names of the objects under a prefix."""
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(f"{self._prefix}/{folder}".rstrip("/"), allow_not_found=True)
        with code_store_errors(self.url):
            return {info.base_name for info in self._files.get_file_info(selector) if info.type == FileType.File}

    def open(self, name: str) -> BinaryIO:
        """Open an object."""
        return open_object(self._files, f"{self._prefix}/{name}")

    @contextmanager
    def publish(self, name: str, *, once: bool = False) -> Iterator[BinaryIO]:
        """Buffer the object and upload it when the block ends, so that it is never visible incomplete."""
        path = f"{self._prefix}/{name}"
        buffer = io.BytesIO()
        yield buffer
        if once and name.rpartition("/")[2] in self.names(name.rpartition("/")[0]):
            raise FileExistsError(name)
        with (
            writable(Path(name)),
            self._files.open_output_stream(path) as stream,
        ):  # if this raises, the upload is aborted and no object appears
            stream.write(buffer.getbuffer())

    def remove(self, name: str) -> None:
        """Remove an object."""
        with suppress(FileNotFoundError):
            self._files.delete_file(f"{self._prefix}/{name}")

    def clean(self, folder: str) -> None:
        """No-op: an incomplete upload does not create an object."""
