"""Links in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.corpora.base import Item, documents_of
from onym.corpora.corpus import read_corpus
from onym.kb import KnowledgeBase
from onym.linkers.exact import ExactLinker
from onym.pipeline.output import write_links
from onym.predictions.file import read_predictions
from onym.types import Document, Mention, Problem

DOC = Document("1", "fever, MI, xyz", (Mention(0, 5, "fever", ("mesh:D9",)), Mention(7, 9, "MI"), Mention(11, 14, "xyz")))
ITEMS: list[Item] = [DOC, Problem("2", "corpus-offsets", "a surface is not at its offsets")]


@pytest.fixture
def linker(tiny_kb: Path) -> ExactLinker:
    return ExactLinker(KnowledgeBase.open(tiny_kb))


def test_predictions(linker: ExactLinker, tmp_path: Path) -> None:
    counts = write_links(ITEMS, linker, tmp_path / "p.jsonl")
    assert counts.as_dict() == {"documents": 1, "mentions": 3, "linked": 2, "tied": 1, "left_out": 1}
    found = read_predictions(tmp_path / "p.jsonl")
    assert found.answers["1", 0, 5] == ((("mesh:D005334",), 1.0, 0),)
    assert found.answers["1", 11, 14] == ()


def test_a_corpus_format_has_the_best_concept(linker: ExactLinker, tmp_path: Path) -> None:
    write_links(ITEMS, linker, tmp_path / "p.pubtator", "pubtator")
    (doc,) = documents_of(read_corpus(tmp_path / "p.pubtator"))
    assert [mention.concept_ids for mention in doc.mentions] == [("mesh:D005334",), ("mesh:D006973",), ()]


def test_a_filter_is_written_down(linker: ExactLinker, tmp_path: Path) -> None:
    write_links(ITEMS, linker, tmp_path / "p.jsonl", only=np.array([True, False, False]))
    assert read_predictions(tmp_path / "p.jsonl").source["concepts_allowed"] == 1
