"""FAISS, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onym.errors import missing_extra


def faiss() -> Any:
    """Return the library, or tell what has to be installed.

    >>> faiss().IndexFlatIP(3).d
    3
    """
    try:
        import faiss as library
    except ImportError as e:
        raise missing_extra("an index of vectors", "dense") from e
    return library


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS compute in one thread: a graph that several threads build is another one each time.

    OpenMP keeps this number for each thread that calls it: what other threads compute meanwhile is not affected.
    """
    library = faiss()
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(1)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)
