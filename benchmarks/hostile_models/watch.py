"""The kernel's own account of which files are opened, by inotify: libraries in C++ and Rust tell Python nothing."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_OPEN, _NONBLOCK = 0x20, os.O_NONBLOCK


class Watch:
    """Notes whether anything in a folder or below it is opened."""

    def __init__(self, folder: Path) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = library.inotify_init1(_NONBLOCK)
        for path in (folder, *(each for each in folder.rglob("*") if not each.is_symlink())):
            if self._descriptor < 0 or library.inotify_add_watch(self._descriptor, os.fsencode(path), _OPEN) < 0:
                raise OSError(ctypes.get_errno(), "the folder cannot be watched")

    def was_read(self) -> bool:
        """Tell whether something was opened since the last question."""
        try:
            return bool(os.read(self._descriptor, 65_536))
        except BlockingIOError:
            return False

    def close(self) -> None:
        os.close(self._descriptor)
