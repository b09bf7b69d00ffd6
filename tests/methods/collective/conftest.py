"""Fixtures for tests of collective models. They run in one thread, which is fastest for small models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.models import save_encoder
from tests.threads import one_thread


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="package")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny BERT; tests must not modify it."""
    return save_encoder(tmp_path_factory.mktemp("encoder") / "tiny-bert")
