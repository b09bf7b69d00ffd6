"""Opening what must be a regular file: a pipe or a device is refused at once, where a plain `open` would wait for ever."""

from __future__ import annotations

import os
import stat
from io import FileIO
from pathlib import Path


class RegularFile(FileIO):
    """A file that closes itself when nobody holds it: archives stay open as long as their members may be read."""

    def __del__(self) -> None:
        self.close()


def open_regular(path: Path) -> RegularFile:
    """Open a regular file for reading, unbuffered; anything else is an `OSError`.

    >>> open_regular(Path("/dev/null"))
    Traceback (most recent call last):
        ...
    OSError: [Errno 22] not a regular file
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(22, "not a regular file")
    return RegularFile(descriptor)
