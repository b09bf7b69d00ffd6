"""Tests of the validation of FAISS files: wrong lengths, headers, graph neighbours and ids are rejected."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from onym.methods.dense.index.guard import problem_of
from onym.methods.dense.index.kinds import KINDS, faiss

WIDTH = 16
NAMES = 2_000
Bytes = npt.NDArray[np.uint8]


def make_index(kind: str, vectors: npt.NDArray[np.float32]) -> Any:
    index = KINDS[kind].make(vectors.shape[1], len(vectors))
    index.train(np.concatenate([vectors, vectors]) if len(vectors) == 1 else vectors)
    index.add(vectors)
    return index


def draw_vectors(names: int, width: int = WIDTH) -> npt.NDArray[np.float32]:
    return np.random.default_rng(7).standard_normal((names, width)).astype(np.float32)


def write_index(index: Any) -> Bytes:
    return np.asarray(faiss().serialize_index(index), dtype=np.uint8)


@pytest.fixture(scope="module")
def files() -> dict[str, Bytes]:
    return {kind: write_index(make_index(kind, draw_vectors(NAMES))) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("names", "width"), [(1, 16), (2, 16), (30, 24), (700, 10), (6_000, 8)])
def test_accepts_files_of_faiss(kind: str, names: int, width: int) -> None:
    data = write_index(make_index(kind, draw_vectors(names, width)))
    assert [problem_of(data, kind, width, names, is_new=is_new) for is_new in (True, False)] == ["", ""]


def test_sparse_lists() -> None:
    data = write_index(make_index("ivfpq", np.ones((NAMES, WIDTH), dtype=np.float32)))
    assert b"sprs" in data.tobytes()
    assert problem_of(data, "ivfpq", WIDTH, NAMES, is_new=True) == ""
    at = data.tobytes().index(b"sprs") + 12  # here the file stores which list is not empty; there is only one
    for spoilt in (
        edit_bytes(data, at, "Q", 10**6),
        edit_bytes(data, at - 8, "Q", 3),
        edit_bytes(data, at - 12, "4s", b"some"),
    ):
        assert problem_of(spoilt, "ivfpq", WIDTH, NAMES, is_new=False)


@pytest.mark.parametrize("kind", KINDS)
def test_rejects_wrong_lengths(kind: str, files: dict[str, Bytes]) -> None:
    data = files[kind]
    for is_new in (True, False):
        assert "extra bytes" in problem_of(np.append(data, np.uint8(0)), kind, WIDTH, NAMES, is_new=is_new)
        for length in (0, 3, 36, 37, 60, len(data) // 2, len(data) - 1):
            assert problem_of(data[:length], kind, WIDTH, NAMES, is_new=is_new)
        assert problem_of(data, kind, WIDTH, NAMES + 1, is_new=is_new)
        assert problem_of(data, kind, WIDTH * 2, NAMES, is_new=is_new)
        assert all(problem_of(data, other, WIDTH, NAMES, is_new=is_new) for other in KINDS if other != kind)


def edit_bytes(data: Bytes, at: int, layout: str, value: Any) -> Bytes:
    changed = bytearray(data.tobytes())
    struct.pack_into(f"<{layout}", changed, at, value)
    return np.frombuffer(bytes(changed), dtype=np.uint8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0, 1, 0x7F, 0xFF])
def test_rejects_changed_headers(kind: str, value: int, files: dict[str, Bytes]) -> None:
    """Any changed byte of a length or constant is detected, except in two numbers that FAISS ignores."""
    data = files[kind]
    free = {*range(16, 32), *(range(69, 85) if kind in ("ivfpq", "pq") else ())}
    where = {"flat": range(45), "flat16": range(81), "sq8": range(73), "hnsw": range(38), "ivfpq": range(98), "pq": range(98)}[
        kind
    ]
    for at in set(where) - free:
        if data[at] != value:
            assert problem_of(edit_bytes(data, at, "B", value), kind, WIDTH, NAMES, is_new=False), at


class Graph:
    """The offsets of the sections in the file of an HNSW graph."""

    def __init__(self, data: Bytes) -> None:
        self.index = faiss().deserialize_index(data)
        self.levels = faiss().vector_to_array(self.index.hnsw.levels)
        self.offsets = faiss().vector_to_array(self.index.hnsw.offsets)
        levels_at = 37 + 8 + 6 * 8 + 8 + 7 * 4 + 8
        self.at = {"levels": levels_at, "offsets": levels_at + 4 * NAMES + 8}
        self.at["neighbours"] = self.at["offsets"] + 8 * (NAMES + 1) + 8
        self.at["entry"] = self.at["neighbours"] + 4 * int(self.offsets[-1])

    def neighbour(self, node: int, number: int) -> int:
        return self.at["neighbours"] + 4 * (int(self.offsets[node]) + number)


def test_rejects_invalid_graphs(files: dict[str, Bytes]) -> None:
    data = files["hnsw"]
    graph = Graph(data)
    high, low = int(np.flatnonzero(graph.levels > 1)[0]), int(np.flatnonzero(graph.levels == 1)[0])
    wrong = {
        "does not exist": [edit_bytes(data, graph.neighbour(5, 0), "i", value) for value in (NAMES, 2**31 - 1, -2)],
        "on a level that it does not reach": [edit_bytes(data, graph.neighbour(high, 64), "i", low)],
        "wrong neighbour offsets": [edit_bytes(data, graph.at["offsets"] + 8, "Q", value) for value in (0, 65, 2**63)],
        "level of a name is out of range": [edit_bytes(data, graph.at["levels"] + 4 * low, "i", value) for value in (0, 7, -1)],
    }
    for problem, spoilt in wrong.items():
        for each in spoilt:
            assert problem in problem_of(each, "hnsw", WIDTH, NAMES, is_new=True)
    for at, value in ((0, -1), (0, NAMES), (0, low), (4, 6), (4, 0), (8, 0), (12, -1), (12, 2**31 - 1)):
        assert problem_of(edit_bytes(data, graph.at["entry"] + at, "i", value), "hnsw", WIDTH, NAMES, is_new=False)


def test_rejects_invalid_ids_in_lists(files: dict[str, Bytes]) -> None:
    data = files["ivfpq"]
    # the value replaces the last id in the lists; 0 and 1 are valid ids, but then occur twice, and the replaced id is missing
    for value in (-1, NAMES, 2**63 - 1, 0, 1):
        spoilt = edit_bytes(data, len(data) - 8, "q", value)
        if not np.array_equal(spoilt, data):
            assert "name" in problem_of(spoilt, "ivfpq", WIDTH, NAMES, is_new=True)
    at = data.tobytes().index(b"full") + 12
    for spoilt in (edit_bytes(data, at, "Q", 2**63), edit_bytes(data, at, "Q", NAMES + 1)):
        assert "hold" in problem_of(spoilt, "ivfpq", WIDTH, NAMES, is_new=False)
