from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from onym.errors import ConfigError
from onym.methods.dense.index.kinds import faiss, one_thread


def test_reports_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match="extra-missing") as caught:
        faiss()
    assert "onym[models]" in caught.value.fix


def test_one_thread_restores_the_thread_count() -> None:
    library = faiss()
    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(library.omp_get_max_threads).result()
    library.omp_set_num_threads(2)
    try:
        with one_thread():
            assert library.omp_get_max_threads() == 1
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(library.omp_get_max_threads).result() == others, "other threads are as they were"
        assert library.omp_get_max_threads() == 2
    finally:
        library.omp_set_num_threads(1)
