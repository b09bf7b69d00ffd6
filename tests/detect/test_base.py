"""Spans become mentions."""

from __future__ import annotations

import pytest

from onym.detect.base import Span, with_spans
from onym.errors import InputError
from onym.types import Document, Mention, Relation


def test_mentions_stand_in_the_order_of_the_text_with_their_scores() -> None:
    doc = Document("1", "fever, cough", (Mention(0, 1, "f"),), relations=(Relation("R", (("Arg1", "T1"),)),))
    found = with_spans(doc, [Span(7, 12, 0.5), Span(0, 5, 0.9, "symptom")])
    assert [(m.start, m.end, m.surface, m.type) for m in found.document.mentions] == [
        (0, 5, "fever", "symptom"),
        (7, 12, "cough", ""),
    ]
    assert found.scores == (0.9, 0.5)
    assert found.document.relations == ()


@pytest.mark.parametrize(("start", "end"), [(3, 3), (4, 3), (-1, 2)])
def test_a_span_is_not_empty(start: int, end: int) -> None:
    with pytest.raises(InputError, match="type-offsets"):
        Span(start, end)
