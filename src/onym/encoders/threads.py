"""In how many threads torch computes: the number of a calling thread is not changed by what others do.

`torch.set_num_threads` sets the number of the thread that calls it, and that of all threads which have not used torch yet.
Answers must not depend on that: sums in another order round differently. So workers with another number are made behind a lock,
and every thread takes its own number behind the same lock before it computes.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch

_LOCK = threading.Lock()
_WORKERS = "onym-worker"


def fix_thread_count() -> int:
    """Fix in how many threads torch computes for the calling thread, and return it. Call it before anything is computed.

    >>> fix_thread_count() == torch.get_num_threads()
    True
    """
    with _LOCK:
        return torch.get_num_threads()


def single_core_workers(count: int) -> ThreadPoolExecutor:
    """Return so many workers that compute on one core each. All threads of the process share them.

    >>> list(single_core_workers(2).map(lambda _: torch.get_num_threads(), range(3)))
    [1, 1, 1]
    """
    with _LOCK:
        return _workers(count)


@cache
def _workers(count: int) -> ThreadPoolExecutor:
    own = torch.get_num_threads()
    started = threading.Barrier(count)
    pool = ThreadPoolExecutor(count, _WORKERS, initializer=_use_one_core)
    try:
        list(pool.map(lambda _: started.wait(), range(count)))  # each waits for the others: so there are as many
    finally:
        torch.set_num_threads(own)
    return pool


def _use_one_core() -> None:
    torch.get_num_threads()  # else torch would take the number of the process once more at its first use here
    torch.set_num_threads(1)


def _forget_workers() -> None:
    global _LOCK  # noqa: PLW0603 - that of the parent may be locked by a thread that is not there
    _LOCK = threading.Lock()
    _workers.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)  # a child has none of its parent's threads
