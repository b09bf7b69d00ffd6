"""Tests of reading GenBioEL's target_kb.json."""

from __future__ import annotations

import pytest

from onym.errors import InputError
from onym.kb import readers
from onym.kb.readers import genbioel
from tests.kb.readers.conftest import names_of, rows_of, source_of
from tests.support.releases import SAMPLES


def test_names_of_ids() -> None:
    assert names_of(rows_of(SAMPLES["genbioel"][0], "genbioel")) == [
        ("mesh:D900001", "made up fever", "exact"),
        ("mesh:D900001", "muf", "exact"),
        ("umls:C9000001", "glucoquine", "exact"),
        ("omim:900100", "other", "exact"),
    ]


@pytest.mark.parametrize(
    ("key", "concept"),
    [
        ("D003924", "mesh:D003924"),
        ("C535484", "mesh:C535484"),
        ("C000657245", "mesh:C000657245"),
        ("C0011849", "umls:C0011849"),
        ("613097", "omim:613097"),
        ("22298006", "snomedct:22298006"),
        ("MESH:D003924", "mesh:D003924"),
        ("hp:0000118", "hp:0000118"),
    ],
)
def test_bare_ids(key: str, concept: str) -> None:
    data = f'{{"{key}": ["a"]}}'
    assert readers.detect(source_of({"target_kb.json": data})) == "genbioel"
    assert names_of(rows_of({"target_kb.json": data}, "genbioel")) == [(concept, "a", "exact")]


def test_a_concept_without_names_gives_no_rows() -> None:
    assert rows_of({"target_kb.json": '{"D000001": []}'}, "genbioel") == rows_of({"target_kb.json": "{}"}, "genbioel") == []


@pytest.mark.parametrize("data", ['{"1": [["primary", "a"]]}', '{"1": "a"}', '{"graphs": [{"nodes": []}]}', '["a"]', "{", ""])
def test_other_json_is_not_recognised(data: str) -> None:
    assert not genbioel.matches(source_of({"a.json": data}))


@pytest.mark.parametrize("value", ['"a"', "[1]", '[["a"]]', '{"a": 1}', "5"])
def test_rejects_values_of_the_wrong_type(value: str) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"a.json": f'{{"D1": ["a"], "D2": {value}}}'}, "genbioel")
    assert e.value.code == "json-shape"
