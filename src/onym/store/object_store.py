"""Object stores such as S3, through Arrow's file systems. Addresses look like `s3://bucket/prefix`.

Credentials and settings come from the environment alone, as with the stores' own tools: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_REGION, and AWS_ENDPOINT_URL for stores of the same kind elsewhere. They are never written down.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from onym.errors import ConfigError, InputError
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEMES = ("s3://",)
_FIX = "check the address, the credentials and the region"


def is_address(url: str | Path) -> bool:
    """Tell whether something is the address of an object store.

    >>> is_address("s3://bucket/run"), is_address("run")
    (True, False)
    """
    return str(url).startswith(SCHEMES)


def absolute(url: str | Path) -> str:
    """Return an address or a path that holds in any working folder.

    >>> absolute("s3://bucket/run"), Path(absolute("run")).is_absolute()
    ('s3://bucket/run', True)
    """
    return str(url) if is_address(url) else str(Path(url).resolve())


def open_object_store(url: str) -> tuple[FileSystem, str]:
    """Return the store of an address, and the path in it."""
    from pyarrow.fs import FileSystem, S3FileSystem

    if "@" in url or "?" in url:
        fix = "give credentials and settings by AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL and the like"
        raise ConfigError("config-invalid", "an address holds neither credentials nor settings", where="s3", fix=fix)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    with reached(url):
        if endpoint:
            return S3FileSystem(endpoint_override=endpoint), url.partition("://")[2].rstrip("/")
        files, path = FileSystem.from_uri(url)
        return files, path.rstrip("/")


@contextmanager
def reached(url: str) -> Iterator[None]:
    """Turn what a store refuses into an error of ours."""
    try:
        yield
    except (OSError, ValueError) as e:
        raise InputError("input-missing", "the object store refused, or cannot be reached", where=url, fix=_FIX) from e


def open_object(files: FileSystem, path: str) -> BinaryIO:
    """Open an object for reading in any order; one that is not there is a `FileNotFoundError`."""
    file: Any = files.open_input_file(path)
    return io.BufferedReader(file)


def object_source(url: str, limits: Limits = DEFAULT_LIMITS) -> Source:
    """Look at an object, or at all objects under a prefix; archives are not looked into."""
    from pyarrow.fs import FileSelector, FileType

    files, path = open_object_store(url)
    with reached(url):
        found = files.get_file_info(path)
        infos = [found] if found.type == FileType.File else files.get_file_info(FileSelector(path, recursive=True))
    base = len(path.rpartition("/")[0] if found.type == FileType.File else path) + 1

    def file_of(info: Any) -> InputFile:
        return InputFile(info.path[base:], lambda: open_object(files, info.path), info.size, limits)

    return Source.of_files(path.rpartition("/")[2], [file_of(info) for info in infos if info.type == FileType.File])
