"""The properties that concepts have."""

from __future__ import annotations

from onym.kb import KnowledgeBase
from onym.serve.reconcile.properties import PROPERTIES, properties_like, proposed


def test_values_are_those_of_the_sources(kb: KnowledgeBase) -> None:
    fever = kb["mesh:D005334"]
    values = {key: each.values(fever) for key, each in PROPERTIES.items()}
    assert values["name"] == ["Fever"]
    assert values["synonyms"] == ["Pyrexia", "Hyperthermia", "Ague"]
    assert values["definition"] == ["A rise of temperature."]
    assert values["xrefs"] == ["HP:0001945"]
    assert values["types"] == ["C23"]


def test_properties_are_found_and_proposed() -> None:
    assert [each["id"] for each in properties_like("XREF")] == ["xrefs"]
    assert len(properties_like("")) == len(PROPERTIES)
    assert proposed("Disease", 1) == {"properties": [{"id": "name", "name": "name"}], "type": "Disease", "limit": 1}
    assert set(proposed("", None)) == {"properties"}
