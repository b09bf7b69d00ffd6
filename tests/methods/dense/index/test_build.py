from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.methods.dense.index.build import build_index
from onym.methods.dense.index.kinds import KINDS
from onym.methods.dense.index.search import open_index
from tests.methods.dense.index.made import Hashed, kb_of, names_of


def test_each_name_is_its_own_nearest(kb: KnowledgeBase, tmp_path: Path) -> None:
    manifest = build_index(kb, Hashed(), tmp_path / "index")
    assert manifest.counts == {"names": 30}
    _, ids = open_index(tmp_path / "index").search(Hashed().encode(names_of(kb)), 1)
    assert ids[:, 0].tolist() == list(range(30))


def test_names_are_encoded_once_for_all_kinds(kb: KnowledgeBase, tmp_path: Path) -> None:
    encoder, steps = Hashed(), []
    for kind in ("flat", "hnsw"):
        build_index(kb, encoder, tmp_path / kind, kind, progress=lambda what, names: steps.append((what, names)))
    assert len(encoder.encoded) == 30
    assert ("encoding names", 30) in steps
    assert ("building the index", 30) in steps


@pytest.mark.parametrize("kind", KINDS)
def test_a_knowledge_base_of_one_name(tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    build_index(kb_of(tmp_path, ["fever"]), Hashed(), tmp_path / "index", kind)
    assert open_index(tmp_path / "index").search(Hashed().encode(["a"]), 2)[1].tolist() == [[0, -1]]
    assert capfd.readouterr() == ("", "")


def test_rejects_unknown_kind_before_encoding(kb: KnowledgeBase, tmp_path: Path) -> None:
    encoder = Hashed()
    with pytest.raises(ConfigError, match="index-unknown"):
        build_index(kb, encoder, tmp_path / "index", "magic")
    assert encoder.encoded == []
