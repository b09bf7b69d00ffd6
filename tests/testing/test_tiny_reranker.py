"""A tiny reranker is one."""

from __future__ import annotations

import json
from pathlib import Path

from onym.kb import KnowledgeBase
from onym.linkers import linker_config, open_linker
from onym.testing.tiny_reranker import save_reranker
from onym.types import Document, Mention


def test_it_links(tmp_path: Path, tiny_kb: Path) -> None:
    folder = save_reranker(tmp_path / "model", {"corpora": [{"name": "mine"}]})
    linker = open_linker(linker_config("rerank", model=folder), KnowledgeBase.open(tiny_kb))
    doc = Document("1", "fever", (Mention(0, 5, "fever"),))
    assert [link.concept_id for linked in linker.link([doc]) for link in linked.links] == ["mesh:D005334"]
    assert json.loads((folder / "training.json").read_text()) == {"corpora": [{"name": "mine"}]}
