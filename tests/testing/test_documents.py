"""Tests of the document strategies and the round trip through a format."""

from __future__ import annotations

from hypothesis import given

from onym.corpora.formats import jsonl
from onym.testing.documents import documents, trip
from onym.types import Document


@given(documents())
def test_lossless_format_preserves_everything(document: Document) -> None:
    found = [item for item in trip(jsonl, [document]) if isinstance(item, Document)]
    assert found == [document]
