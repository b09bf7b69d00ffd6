"""Opening what must be a regular file: a pipe or a device is refused at once, where a plain `open` would wait for ever."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader, FileIO
from pathlib import Path

from onym.errors import InputError

SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What a system says that has no more open files or memory to give: that is no fault of the file."""


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


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file; of a larger one, its first `max_bytes` bytes.

    >>> path = getfixture("tmp_path") / "config.json"
    >>> _ = path.write_text("{}")
    >>> read_regular(path, 100), read_regular(path, 1)
    (b'{}', b'{')
    """
    try:
        with BufferedReader(open_regular(path)) as file:
            return file.read(max_bytes)
    except FileNotFoundError as e:
        raise InputError("input-missing", "no such file", where=str(path), fix="check the path") from e
    except OSError as e:
        raise InputError("input-unreadable", f"cannot be read: {e.strerror or e}", where=str(path)) from e


def is_there(path: Path) -> bool:
    """Tell whether something has this name, if only a link to nothing. A disk that fails does not say no: it raises.

    >>> is_there(getfixture("tmp_path")), is_there(getfixture("tmp_path") / "none")
    (True, False)
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
