"""Tests of the facets of formats, and of selecting the documents among the items of a reader."""

from __future__ import annotations

from typing import get_args

from onym.corpora.base import ALL, Facet, Item, documents_of, preserve_all
from onym.corpora.formats import jsonl, parquet
from onym.types import Document, Problem


def test_all_contains_every_facet() -> None:
    assert frozenset(get_args(Facet)) == ALL
    assert len(ALL) == 11


def test_documents_of_drops_problems() -> None:
    items: list[Item] = [Problem("1", "corpus-offsets", "what"), Document("2", "b"), Document("3", "c")]
    assert [document.id for document in documents_of(items)] == ["2", "3"]


def test_a_format_that_preserves_all_has_all_facets() -> None:
    document = Document("1", "")
    assert preserve_all(document) == jsonl.preserved_facets(document) == parquet.preserved_facets(document) == ALL
