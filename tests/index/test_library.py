from __future__ import annotations

import sys

import pytest

from onym.errors import ConfigError
from onym.index.library import faiss, one_thread


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match="extra-missing") as caught:
        faiss()
    assert "onym[dense]" in caught.value.fix


def test_one_thread_and_then_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    library = faiss()
    library.omp_set_num_threads(2)
    try:
        with one_thread():
            assert library.omp_get_max_threads() == 1
        assert library.omp_get_max_threads() == 2
    finally:
        library.omp_set_num_threads(1)
