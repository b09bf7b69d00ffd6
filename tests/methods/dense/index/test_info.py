from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.dense.index.build import build_index, info, open_derived_index_artefact
from tests.methods.dense.index.made import WIDTH, Hashed


def test_describes_an_index_and_those_of_a_knowledge_base(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = kb.folder.parent
    with pytest.raises(IntegrityError, match="onym index build") as caught:
        info(folder)
    assert caught.value.code == "artefact-missing"
    build_index(kb, Hashed(), tmp_path / "index", "flat")
    (described,) = info(tmp_path / "index")
    assert (described["kb"], described["encoder"], described["kind"], described["names"]) == (kb.digest, "hashed", "flat", 30)
    assert (described["bytes"], described["bytes_per_name"]) == (45 + 30 * WIDTH * 4, 65.5)
    kept = {open_derived_index_artefact(kb, Hashed(), kind).artefact.location for kind in ("flat", "sq8")}
    found = info(folder)
    assert {Path(each["folder"]) for each in found} == kept
    assert {**described, "folder": ""} in [{**each, "folder": ""} for each in found]


def test_rejects_folder_without_an_index(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="artefact-missing"):
        info(tmp_path)
