"""One thread, in which small models compute fastest, and sums are always taken in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def one_thread() -> Iterator[None]:
    """Have torch compute in one thread while the block runs."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
