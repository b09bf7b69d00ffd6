from __future__ import annotations

from pathlib import Path

from onym.index.derived import index_beside, indexes_of, kept_beside
from onym.kb import KnowledgeBase
from onym.kb.check import check_kb
from tests.index.made import Hashed, kb_of, words


def test_the_index_is_built_once(kb: KnowledgeBase) -> None:
    encoder = Hashed()
    digests = {index_beside(kb, encoder).digest for _ in range(3)}
    assert len(digests) == 1
    assert len(encoder.encoded) == 30
    assert check_kb(kb.folder.parent) == []


def test_each_kind_and_encoder_has_its_own(kb: KnowledgeBase) -> None:
    folders = {kept_beside(kb, encoder, kind) for encoder in (Hashed(), Hashed("other")) for kind in ("flat", "sq8")}
    assert len(folders) == 4
    assert {folder.parent for folder in folders} == {kb.folder.parent / "indexes"}


def test_another_precision_is_no_reason_to_build_again(kb: KnowledgeBase) -> None:
    index_beside(kb, Hashed(precision="bfloat16"))
    other = Hashed()
    assert index_beside(kb, other).origin.precision == "bfloat16"
    assert other.encoded == []


def test_a_torn_index_is_built_again_from_the_vectors(kb: KnowledgeBase) -> None:
    path = next(kept_beside(kb, Hashed()).glob("*/index.faiss"))
    path.write_bytes(path.read_bytes()[:-1])
    encoder = Hashed()
    assert len(index_beside(kb, encoder)) == 30
    assert encoder.encoded == []


def test_a_new_release_has_a_new_index(tmp_path: Path) -> None:
    first = index_beside(kb_of(tmp_path, words(30)), Hashed())
    encoder = Hashed()
    second = index_beside(kb_of(tmp_path, words(31)), encoder)
    assert (len(first), len(second), len(encoder.encoded)) == (30, 31, 1)


def test_the_kind_that_is_advised_is_kept_once(kb: KnowledgeBase) -> None:
    assert kept_beside(kb, Hashed()) == kept_beside(kb, Hashed(), "flat")


def test_all_indexes_of_a_knowledge_base(kb: KnowledgeBase) -> None:
    assert indexes_of(kb) == []
    kept = {kept_beside(kb, Hashed(), kind) for kind in ("flat16", "sq8")}
    assert set(indexes_of(kb)) == kept
