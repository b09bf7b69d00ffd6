from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.kb import KnowledgeBase
from onym.kb.check import check_kb
from onym.methods.dense.index.build import find_indexes, open_derived_index, open_derived_index_artefact
from onym.methods.dense.index.kinds import faiss
from onym.store.artefact import check_artefact
from tests.methods.dense.index.made import Hashed, kb_of, words
from tests.store.artefact.rotten import rot


def location(kb: KnowledgeBase, encoder: Hashed, kind: str = "auto") -> Path:
    return open_derived_index_artefact(kb, encoder, kind).artefact.location


def test_the_index_is_built_once(kb: KnowledgeBase) -> None:
    encoder = Hashed()
    digests = {open_derived_index(kb, encoder).digest for _ in range(3)}
    assert len(digests) == 1
    assert len(encoder.encoded) == 30
    assert check_kb(kb.folder.parent) == []


def test_each_kind_and_encoder_has_its_own(kb: KnowledgeBase) -> None:
    folders = {location(kb, encoder, kind) for encoder in (Hashed(), Hashed("other")) for kind in ("flat", "sq8")}
    assert len(folders) == 4
    assert {folder.parent for folder in folders} == {kb.folder.parent / "indexes"}


def test_another_precision_does_not_rebuild(kb: KnowledgeBase) -> None:
    open_derived_index(kb, Hashed(precision="bfloat16"))
    other = Hashed()
    assert open_derived_index(kb, other).origin.precision == "bfloat16"
    assert other.encoded == []


def test_rebuilds_corrupt_index_from_the_vectors(kb: KnowledgeBase) -> None:
    path = next(location(kb, Hashed()).glob("*/index.faiss"))
    path.write_bytes(path.read_bytes()[:-1])
    encoder = Hashed()
    assert len(open_derived_index(kb, encoder)) == 30
    assert encoder.encoded == []


def test_a_new_release_has_a_new_index(tmp_path: Path) -> None:
    first = open_derived_index(kb_of(tmp_path, words(30)), Hashed())
    encoder = Hashed()
    second = open_derived_index(kb_of(tmp_path, words(31)), encoder)
    assert (len(first), len(second), len(encoder.encoded)) == (30, 31, 1)


def test_auto_shares_the_index_of_the_recommended_kind(kb: KnowledgeBase) -> None:
    assert location(kb, Hashed()) == location(kb, Hashed(), "flat")


def test_all_indexes_of_a_knowledge_base(kb: KnowledgeBase) -> None:
    assert find_indexes(kb) == []
    kept = {location(kb, Hashed(), kind) for kind in ("flat16", "sq8")}
    assert set(find_indexes(kb)) == kept


def test_faiss_reads_an_index_once(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    own = faiss().read_index

    def read_index(*arguments: Any) -> Any:
        reads.append(1)
        return own(*arguments)

    monkeypatch.setattr(faiss(), "read_index", read_index)
    open_derived_index(kb, Hashed())
    assert len(reads) == 1, "after a build"
    open_derived_index(kb, Hashed())
    assert len(reads) == 2


def test_full_verification_rebuilds_corrupt_index(kb: KnowledgeBase) -> None:
    folder = location(kb, Hashed())
    rot(folder, "index.faiss", -1, b"\x7f")
    open_derived_index(KnowledgeBase.open(kb.folder.parent, verify="full"), Hashed())
    assert check_artefact(folder) == []


def test_corrupt_vectors_are_not_used_for_an_index(kb: KnowledgeBase) -> None:
    open_derived_index(kb, Hashed(), "flat")
    (vectors,) = (kb.folder.parent / "vectors").iterdir()
    rot(vectors, "vectors-00000.npy", -1, b"\x7f")
    encoder = Hashed()
    open_derived_index(kb, encoder, "sq8")
    assert len(encoder.encoded) == 30
