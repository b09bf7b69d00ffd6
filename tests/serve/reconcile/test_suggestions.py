"""What is suggested while somebody types."""

from __future__ import annotations

from onym.kb import KnowledgeBase
from onym.serve.reconcile.suggestions import suggested_entities, suggested_types


def test_entities_by_id_name_beginning_and_words(kb: KnowledgeBase) -> None:
    for text in ("D005334", "mesh:d005334", "fever", "pyrex", "ague"):
        assert suggested_entities(kb, text, 5)[0] == {
            "id": "MESH:D005334",
            "name": "Fever",
            "notable": [{"id": "Disease", "name": "Disease"}, {"id": "Phenotype", "name": "Phenotype"}],
            "description": "A rise of temperature.",
        }
    assert "description" not in suggested_entities(kb, "blood pressure", 5)[0]
    assert suggested_entities(kb, "", 5) == suggested_entities(kb, "\x00", 5) == []


def test_a_cursor_skips(kb: KnowledgeBase) -> None:
    both = suggested_entities(kb, "MI", 5)
    assert [each["id"] for each in both[:2]] == ["MESH:D006973", "MESH:D009203"]
    assert suggested_entities(kb, "MI", 5, 1) == both[1:]
    assert suggested_entities(kb, "MI", 1) == both[:1]
    assert suggested_types(kb, "", 2, 1) == suggested_types(kb, "", 5)[1:3]
