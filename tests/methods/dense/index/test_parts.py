"""Tests of an index in parts: the parts are built in parallel and searched like a single index."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.dense.index import kinds
from onym.methods.dense.index.artefact import IndexOrigin, IndexPart, build_in_parallel, file_of, merge_found, parts_of
from onym.methods.dense.index.build import build_index
from onym.methods.dense.index.kinds import faiss
from onym.methods.dense.index.search import Index, open_index
from onym.store.stage import Record, staging
from onym.types import silent
from tests.methods.dense.index.made import Hashed, names_of


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_PART", 800)


@pytest.fixture
def folder(tmp_path: Path, large_kb: KnowledgeBase, _small_parts: None) -> Path:
    build_index(large_kb, Hashed(), tmp_path / "index", "hnsw")
    return tmp_path / "index"


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_each_name_is_in_one_part(names: int, count: int) -> None:
    parts = parts_of(names, count)
    assert [name for part in parts for name in range(part.start, part.end)] == list(range(names))
    assert max(part.names for part in parts) - min(part.names for part in parts) <= 1


def test_parts_are_built_by_one_thread_each() -> None:
    both = threading.Barrier(2, timeout=60)

    def build(part: IndexPart) -> int:
        if part.end <= 20:
            both.wait()  # a barrier: the first two parts must be built at the same time
        return int(faiss().omp_get_max_threads())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("onym.methods.dense.index.artefact.os.cpu_count", lambda: 2)
        built = build_in_parallel(parts_of(30, 3), build, silent)
    assert [part.index for part in built] == [1, 1, 1]


def test_the_best_of_all_parts() -> None:
    first = np.array([[0.9, 0.1]], dtype=np.float32), np.array([[3, 1]])
    second = np.array([[0.5, 0.0]], dtype=np.float32), np.array([[7, -1]])
    scores, ids = merge_found([first, second], 3)
    assert ids.tolist() == [[3, 7, 1]]
    assert scores[0].tolist() == pytest.approx([0.9, 0.5, 0.1])


def files_of(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("index*.faiss")}


def test_an_index_of_several_parts(folder: Path, large_kb: KnowledgeBase) -> None:
    assert files_of(folder) == {"index.faiss", "index-1.faiss", "index-2.faiss"}
    index = open_index(folder)
    _, ids = index.search(Hashed().encode(names_of(large_kb)), 1)
    assert (ids[:, 0] == np.arange(3_000)).mean() > 0.99


def test_names_to_search_among(folder: Path, large_kb: KnowledgeBase) -> None:
    index, wanted = open_index(folder), Hashed().encode(names_of(large_kb)[:200])
    exact = faiss().IndexFlatIP(16)
    exact.add(Hashed().encode(names_of(large_kb)))
    for some in (np.arange(1, 3_000, 2), np.arange(5, 3_000, 100)):
        found = index.search(wanted, 5, some)[1]
        best = exact.search(wanted, 5, params=faiss().SearchParameters(sel=faiss().IDSelectorBatch(some)))[1]
        shared = [len(set(a) & set(b)) for a, b in zip(found.tolist(), best.tolist(), strict=True)]
        assert set(found.reshape(-1).tolist()) <= set(some.tolist())
        assert sum(shared) / (5 * len(wanted)) > 0.98


@pytest.mark.usefixtures("_small_parts")
def test_builds_are_reproducible(tmp_path: Path, large_kb: KnowledgeBase) -> None:
    digests = {build_index(large_kb, Hashed(), tmp_path / name, "hnsw").digest() for name in ("one", "two")}
    assert len(digests) == 1


@pytest.mark.parametrize("spoil", ["missing", "exchanged"])
def test_rejects_inconsistent_parts(folder: Path, tmp_path: Path, spoil: str) -> None:
    """Digests do not help here: an attacker can recompute them for a changed file."""
    files = {path.name: path.read_bytes() for path in folder.rglob("*.f*") if path.is_file()}
    config = open_index(folder).origin.model_dump(mode="json")
    if spoil == "missing":
        del files[file_of(2)]
    else:
        files[file_of(1)] = files[file_of(1)][:-1]
    with staging(tmp_path / "other") as stage:
        for name, data in files.items():
            with stage.file(name) as file:
                file.write(data)
        stage.publish(tmp_path / "other", "index", 1, Record(config, [], {}))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_index(tmp_path / "other")


def test_rejects_index_with_another_division(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_PART", 1_500)
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_index(folder)


def test_rejects_ids_outside_the_part() -> None:
    library = faiss().IndexFlatIP(2)
    library.add(np.ones((5, 2), dtype=np.float32))
    origin = IndexOrigin(kb="", encoder="", precision="", kind="flat", names=8, width=2, metric="inner-product")
    index = Index([IndexPart(0, 3, library), IndexPart(3, 8, library)], origin, "")
    with pytest.raises(IntegrityError, match="invalid name id"):
        index.search(np.ones((1, 2), dtype=np.float32), 5)
