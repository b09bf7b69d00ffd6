"""A folder for what is needed for a while: removed when the block ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give an empty folder of one's own.

    >>> with scratch_folder() as folder:
    ...     list(folder.iterdir())
    []
    """
    with TemporaryDirectory(prefix="onym-") as folder:
        yield Path(folder)
