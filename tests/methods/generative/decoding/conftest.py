"""Runs these tests in one thread, which is fastest for small models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.threads import one_thread


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield
