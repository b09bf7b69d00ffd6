"""What is piped into a program: kept in a file of its own while it is read, since a format is recognised before it is read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from onym.store.files.source import Source
from onym.store.output import writable
from onym.store.scratch import scratch_folder

NAME = "stdin.txt"


@contextmanager
def spooled(stream: BinaryIO) -> Iterator[Source]:
    """Give what a stream holds as a release: of one file, or of those in an archive.

    >>> import io
    >>> with spooled(io.BytesIO(b"High fever.")) as source:
    ...     [(file.name, file.size) for file in source.files]
    [('stdin.txt', 11)]
    """
    with scratch_folder() as folder:
        path = folder / NAME
        with writable(path), path.open("xb") as file:
            shutil.copyfileobj(stream, file)
        yield Source.open(path)
