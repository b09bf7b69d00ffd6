from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.generative.trie.artefact import build_trie, info, open_derived_trie_artefact
from tests.methods.generative.trie.letters import Letters, Plain


def test_describes_a_trie_and_those_of_a_knowledge_base(tiny_kb: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_kb, tmp_path / "kb", ignore=shutil.ignore_patterns("tries"))
    kb = KnowledgeBase.open(tmp_path / "kb")
    with pytest.raises(IntegrityError) as caught:
        info(tmp_path / "kb")
    assert caught.value.code == "artefact-missing"
    build_trie(kb, Letters(), Plain(), tmp_path / "trie")
    (described,) = info(tmp_path / "trie")
    assert (described["kb"], described["tokenizer"], described["template"]) == (kb.digest, "letters", "plain")
    assert (described["names"], described["max_name_tokens"], described["folder"]) == (9, 21, str(tmp_path / "trie"))
    assert sum(described["nodes_by_depth"]) == described["nodes"]
    folder = open_derived_trie_artefact(kb, Letters(), Plain()).artefact.location
    assert info(tmp_path / "kb") == [{**described, "folder": str(folder)}]


def test_rejects_folder_without_a_trie(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError) as caught:
        info(tmp_path)
    assert caught.value.code == "artefact-missing"
