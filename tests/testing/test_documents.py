"""Documents for property tests are documents, and the way through a format and back is taken."""

from __future__ import annotations

from hypothesis import given

from onym.corpora.formats import jsonl
from onym.testing.documents import documents, trip
from onym.types import Document


@given(documents())
def test_they_come_through_a_format_that_keeps_everything(document: Document) -> None:
    found = [item for item in trip(jsonl, [document]) if isinstance(item, Document)]
    assert found == [document]
