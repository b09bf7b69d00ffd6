"""The facets are one closed set, and problems are told apart from documents."""

from __future__ import annotations

from typing import get_args

from onym.corpora.base import ALL, Facet, Item, documents_of, hold_all
from onym.corpora.formats import jsonl, parquet
from onym.types import Document, Problem


def test_all_is_every_facet() -> None:
    assert frozenset(get_args(Facet)) == ALL
    assert len(ALL) == 11


def test_documents_of_leaves_problems_out() -> None:
    items: list[Item] = [Problem("1", "corpus-offsets", "what"), Document("2", "b"), Document("3", "c")]
    assert [document.id for document in documents_of(items)] == ["2", "3"]


def test_a_format_that_holds_all_holds_every_facet() -> None:
    assert hold_all(Document("1", "")) == jsonl.held(Document("1", "")) == parquet.held(Document("1", "")) == ALL
