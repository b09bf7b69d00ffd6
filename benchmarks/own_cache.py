"""A cache directory of a benchmark's own: it is a machine that has verified nothing yet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_cache(folder: Path) -> Iterator[None]:
    """Let `folder` be the cache directory while the block runs."""
    before = os.environ.get("ONYM_CACHE")
    os.environ["ONYM_CACHE"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("ONYM_CACHE")
        if before is not None:
            os.environ["ONYM_CACHE"] = before
