"""Tests that starting worker pools does not change torch's thread count for other threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from onym.models import torch_loading as threads
from onym.models.torch_encoder import Encoder
from onym.models.torch_loading import fix_thread_count, single_core_workers


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def count_of_a_new_thread() -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(fix_thread_count).result()


def test_workers_use_one_core_and_others_keep_their_thread_count() -> None:
    threads._workers.cache_clear()
    workers = single_core_workers(2)
    assert set(workers.map(lambda _: (torch.ones(9, 9) @ torch.ones(9, 9)).sum().item(), range(8))) == {729.0}
    assert set(workers.map(lambda _: torch.get_num_threads(), range(8))) == {1}
    assert fix_thread_count() == count_of_a_new_thread() == 2


def test_workers_are_started_once() -> None:
    assert single_core_workers(2) is single_core_workers(2)
    assert single_core_workers(3) is not single_core_workers(2)
    names = {thread.name for thread in threading.enumerate() if thread.name.startswith("onym-worker")}
    assert len(names) >= 3


def test_starting_workers_does_not_affect_new_threads() -> None:
    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(fix_thread_count()))
    with threads._LOCK:
        torch.set_num_threads(1)
        thread.start()
        thread.join(0.05)
        assert not counts
        torch.set_num_threads(2)
    thread.join()
    assert counts == [2]


def test_concurrent_encoding_matches_sequential(bert_folder: Path) -> None:
    encoder = Encoder.open(bert_folder, precision="fp32")
    texts = [f"name number {number} " * (number % 7 + 1) for number in range(300)]
    alone = encoder.encode(texts)

    def encode(_: int) -> bool:
        return np.array_equal(encoder.encode(texts), alone)

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(encode, number) for number in range(16)]
        for _ in range(5):  # start worker pools while the other threads encode
            threads._workers.cache_clear()
            single_core_workers(2)
        assert all(each.result() for each in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no child without fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_child_has_its_own_workers() -> None:
    single_core_workers(2)
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if list(single_core_workers(2).map(abs, [-1], timeout=10)) == [1] else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
