"""Tests of preparing COMETA's tables."""

from __future__ import annotations

from pathlib import Path

from onym.datasets.base import NO_ID
from tests.datasets.made import count_drops, read, write_cometa


def test_each_row_is_a_document_with_the_general_concept(tmp_path: Path) -> None:
    documents, drops = read("cometa", write_cometa(tmp_path))
    for split in ("train", "dev", "test"):
        assert [(doc.id, doc.mentions[0].concept_ids) for doc in documents[split]] == [(f"{split}1", ("snomedct:386661006",))]
        assert count_drops(drops, split) == {NO_ID: 1}
