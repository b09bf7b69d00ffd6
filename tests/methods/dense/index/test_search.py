"""Tests of searching every kind of index."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from onym.errors import ConfigError, IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.dense.index import search as search_module
from onym.methods.dense.index.artefact import IndexOrigin, IndexPart
from onym.methods.dense.index.build import open_derived_index
from onym.methods.dense.index.kinds import KINDS, faiss
from onym.methods.dense.index.search import Index
from tests.methods.dense.index.made import Hashed, names_of

LEAST = {"flat": 1.0, "flat16": 0.98, "sq8": 0.9, "hnsw": 0.9, "ivfpq": 0.9, "pq": 0.3}  # recall
QUERIES = Hashed().encode([f"query {number}" for number in range(40)])


def plain(kb: KnowledgeBase, k: int, mask: npt.NDArray[np.bool_] | None = None) -> tuple[Any, Any]:
    """Search by brute force."""
    scores = QUERIES @ Hashed().encode(names_of(kb)).T
    if mask is not None:
        scores[:, ~mask] = -np.inf
    ids = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, ids, axis=1), ids


def recall(found: Any, wanted: Any) -> float:
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), wanted.tolist(), strict=True)]))


@pytest.fixture(params=KINDS)
def index(request: pytest.FixtureRequest, large_kb: KnowledgeBase) -> Index:
    return open_derived_index(large_kb, Hashed(), request.param)


def test_exact_search(large_kb: KnowledgeBase) -> None:
    scores, ids = open_derived_index(large_kb, Hashed()).search(QUERIES, 10)
    wanted_scores, wanted = plain(large_kb, 10)
    assert np.array_equal(ids, wanted)
    np.testing.assert_allclose(scores, wanted_scores, rtol=1e-5)


def test_each_kind_finds_nearly_all(index: Index, large_kb: KnowledgeBase) -> None:
    scores, ids = index.search(QUERIES, 10)
    assert scores.shape == ids.shape == (40, 10)
    assert (scores.dtype, ids.dtype) == (np.dtype(np.float32), np.dtype(np.int64))
    assert recall(ids, plain(large_kb, 10)[1]) >= LEAST[index.origin.kind]
    assert (np.diff(scores, axis=1) <= 0).all()
    assert (ids >= 0).all()


@pytest.mark.parametrize("part", [0.5, 0.02, 0.002])
def test_within_some_names(index: Index, large_kb: KnowledgeBase, part: float) -> None:
    mask = np.random.default_rng(0).random(3_000) < part
    _, ids = index.search(QUERIES, 5, mask)
    assert mask[ids].all()
    assert (ids >= 0).all()
    assert recall(ids, plain(large_kb, 5, mask)[1]) >= LEAST[index.origin.kind]
    again = index.search(QUERIES, 5, np.flatnonzero(mask))
    assert np.array_equal(again[1], ids)


def test_reranks_results_of_lists_by_their_vectors(large_kb: KnowledgeBase) -> None:
    scores, ids = open_derived_index(large_kb, Hashed(), "ivfpq").search(QUERIES, 10)
    vectors = Hashed().encode(names_of(large_kb)).astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(scores, np.einsum("nkw,nw->nk", vectors[ids], QUERIES), atol=1e-5)


def test_pads_results_if_there_are_fewer_names(index: Index) -> None:
    scores, ids = index.search(QUERIES[:2], 5, np.array([7, 70, 700]))
    assert {frozenset(row[:3]) for row in ids.tolist()} == {frozenset((7, 70, 700))}
    assert (ids[:, 3:] == -1).all()
    assert np.isneginf(scores[:, 3:]).all()
    scores, ids = index.search(QUERIES[:2], 5, np.zeros(3_000, dtype=bool))
    assert (ids == -1).all()


def test_no_vectors_and_more_names_than_there_are(kb: KnowledgeBase) -> None:
    index = open_derived_index(kb, Hashed())
    scores, ids = index.search(QUERIES[:0], 5)
    assert scores.shape == ids.shape == (0, 5)
    ids = index.search(QUERIES[:1], 50)[1]
    assert sorted(ids[0, :30].tolist()) == list(range(30))
    assert (ids[0, 30:] == -1).all()


def test_block_size_does_not_change_results(large_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    index = open_derived_index(large_kb, Hashed(), "sq8")
    whole = index.search(QUERIES, 10)
    monkeypatch.setattr(search_module, "_BLOCK", 7)
    blocks = index.search(QUERIES, 10)
    assert np.array_equal(blocks[0], whole[0])
    assert np.array_equal(blocks[1], whole[1])


def test_equal_names_are_in_the_order_of_their_ids() -> None:
    library = faiss().IndexFlatIP(2)
    library.add(np.ones((50, 2), dtype=np.float32))
    origin = IndexOrigin(kb="", encoder="", precision="", kind="flat", names=50, width=2, metric="inner-product")
    _, ids = Index([IndexPart(0, 50, library)], origin, "").search(np.ones((1, 2), dtype=np.float32), 50)
    assert ids[0].tolist() == list(range(50))


def test_index_keeps_its_mapping_alive(kb: KnowledgeBase) -> None:
    indexes = [open_derived_index(kb, Hashed(), kind) for kind in KINDS]
    gc.collect()
    queries = Hashed().encode([kb.names[11]])
    found = {index.origin.kind: int(index.search(queries, 1)[1][0, 0]) for index in indexes}
    assert {found[kind] for kind in ("flat", "flat16", "sq8", "hnsw")} == {11}


@pytest.mark.parametrize("shape", [(2, 15), (2, 17), (16,), (1, 2, 16)])
def test_rejects_queries_of_wrong_shape(kb: KnowledgeBase, shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="index-query"):
        open_derived_index(kb, Hashed()).search(np.zeros(shape, dtype=np.float32), 1)


@pytest.mark.parametrize(
    "within", [np.ones(29, dtype=bool), np.array([30]), np.array([-1]), np.array([0.5]), np.ones((30, 1), bool)]
)
def test_rejects_invalid_name_filters(kb: KnowledgeBase, within: npt.NDArray[Any]) -> None:
    with pytest.raises(ConfigError, match="index-query"):
        open_derived_index(kb, Hashed()).search(QUERIES, 1, within)


def test_rejects_invalid_ids_in_results(kb: KnowledgeBase) -> None:
    """In a manipulated index, the ids in the lists may differ from 0, 1, 2 ..."""
    index = open_derived_index(kb, Hashed())
    small = index.origin.model_copy(update={"names": 5})
    library = faiss().IndexFlatIP(index.origin.width)
    library.add(Hashed().encode(names_of(kb)))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        Index([IndexPart(0, 5, library)], small, "").search(QUERIES, 5)


def test_does_not_copy_the_codes(tmp_path: Path, large_kb: KnowledgeBase) -> None:
    """FAISS uses the memory-mapped file without copying the codes."""
    for kind in ("flat", "flat16", "sq8", "hnsw"):
        ((_, _, index),) = open_derived_index(large_kb, Hashed(), kind)._parts
        codes = (faiss().downcast_index(index.storage) if kind == "hnsw" else index).codes
        assert not codes.is_owned


def test_threads_give_the_same_results(large_kb: KnowledgeBase, index: Index) -> None:
    some = np.arange(0, len(large_kb.names), 2)

    def search(_: int) -> list[Any]:
        return [each.tolist() for within in (None, some) for each in index.search(QUERIES, 10, within)]

    alone = search(0)
    with ThreadPoolExecutor(8) as pool:
        assert all(found == alone for found in pool.map(search, range(32)))
