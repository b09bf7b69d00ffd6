"""Tests that an in-memory index gives the same results as one on disk, for all names or some."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onym.methods.dense.index.build import index_in_memory, open_derived_index
from tests.methods.dense.index.made import Hashed, kb_of, names_of, words


def test_agrees_with_an_index_on_disk(tmp_path: Path) -> None:
    kb, encoder = kb_of(tmp_path, words(50)), Hashed()
    queries = encoder.encode(["one", "two", *names_of(kb)[:3]])
    kept, own = open_derived_index(kb, encoder), index_in_memory(kb, encoder)
    assert len(own) == len(kept) == 50
    for within in (None, np.arange(0, 50, 3)):
        (scores, ids), (wanted, wanted_ids) = (each.search(queries, 7, within) for each in (own, kept))
        assert (ids == wanted_ids).all()
        np.testing.assert_allclose(scores, wanted, atol=1e-6)


def test_finds_only_the_given_names(tmp_path: Path) -> None:
    kb, encoder, some = kb_of(tmp_path, words(50)), Hashed(), np.array([3, 17, 41])
    index = index_in_memory(kb, encoder, some)
    assert encoder.encoded == [kb.names[name] for name in some.tolist()]
    _, ids = index.search(encoder.encode(["one"]), 5)
    assert sorted(ids[0, :3].tolist()) == some.tolist()
    assert ids[0, 3:].tolist() == [-1, -1]
    _, ids = index.search(encoder.encode(["one"]), 2, np.array([17, 18]))
    assert ids.tolist() == [[17, -1]]
    _, ids = index_in_memory(kb, encoder, some[:0]).search(encoder.encode(["one"]), 2)
    assert ids.tolist() == [[-1, -1]]
