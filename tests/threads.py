"""Run torch in one thread: fastest for small models, and sums are always computed in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch in one thread within the block."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
