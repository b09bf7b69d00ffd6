"""Tests of reading scispaCy's entity files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onym.errors import InputError
from onym.kb import readers
from onym.store.files.source import Source
from tests.kb.readers.conftest import Row, facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

LINES, LIST = SAMPLES["entity_jsonl"]


def entity(**values: Any) -> list[Row]:
    plain = {"concept_id": "C1", "aliases": [], "types": [], "canonical_name": "a"}
    return rows_of({"a.jsonl": json.dumps({**plain, **values})}, "entity_jsonl")


def test_reads_json_lines() -> None:
    rows = rows_of(LINES, "entity_jsonl")
    assert names_of(rows) == [
        ("umls:C9000001", "Glucoquine", "preferred"),
        ("umls:C9000001", "GQ", "exact"),
        ("umls:C9000001", "Glucoquine ä", "exact"),
        ("mesh:D900001", "Made-up Fever", "preferred"),
    ]
    assert facts_of(rows, "semantic_types") == [("umls:C9000001", ["T121"])]
    assert facts_of(rows, "definition") == [("umls:C9000001", "Made up.")]


def test_reads_a_json_list() -> None:
    rows = rows_of(LIST, "entity_jsonl")
    assert names_of(rows) == [("umls:C9000001", "Glucoquine", "preferred"), ("umls:C9000001", "GQ", "exact")]
    assert facts_of(rows, "xrefs") == [("umls:C9000001", ["mesh:D900001"])]


def test_a_definition_may_be_null() -> None:
    assert entity(definition=None) == [{"concept_id": "umls:C1", "name": "a", "kind": "preferred"}]


def test_recognises_an_entity_whose_long_alias_list_comes_first() -> None:
    data = json.dumps({"concept_id": "C1", "aliases": ["alias" * 10] * 500, "canonical_name": "a"})
    assert readers.detect(source_of({"a.jsonl": data})) == "entity_jsonl"


def test_other_files_of_the_folder_are_ignored() -> None:
    assert rows_of({**LINES, "config.json": '{"version": 1}'}, "entity_jsonl") == rows_of(LINES, "entity_jsonl")


@pytest.mark.parametrize(
    "values",
    [
        {"concept_id": None}, {"concept_id": 5}, {"concept_id": ""}, {"canonical_name": None}, {"canonical_name": ["a"]},
        {"aliases": "a"}, {"aliases": [1]}, {"aliases": {"a": 1}}, {"types": "T1"}, {"definition": 1.5}, {"xrefs": [None]},
    ],
)  # fmt: skip
def test_rejects_values_of_the_wrong_type(values: dict[str, Any]) -> None:
    with pytest.raises(InputError) as e:
        entity(**values)
    assert e.value.code == "json-shape"


@pytest.mark.parametrize("line", ["{", '{"a": 1', "null null", "{'a': 1}", "\\"])
def test_rejects_invalid_json_with_its_line_number(line: str) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"a.jsonl": f'{{"concept_id": "C1", "canonical_name": "a"}}\n\n{line}\n'}, "entity_jsonl")
    assert (e.value.code, e.value.where) == ("json-malformed", "a.jsonl:3")


@pytest.mark.parametrize("line", ["[1]", "5", "null", '"a"'])
def test_rejects_a_line_that_is_not_an_object(line: str) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"a.jsonl": f'{{"concept_id": "C1", "canonical_name": "a"}}\n{line}\n'}, "entity_jsonl")
    assert e.value.code == "json-shape"


@pytest.mark.parametrize("text", ["\\ud800", "a\\udc00b", "\\udc00\\ud800"])
@pytest.mark.parametrize("key", ["concept_id", "canonical_name", "definition"])
def test_lone_surrogate_is_rejected(text: str, key: str) -> None:
    """Found by fuzzing: JSON can escape lone surrogates, which UTF-8 cannot encode."""
    values = {"concept_id": "C1", "canonical_name": "a", key: "TEXT"}
    for name, data in (("a.jsonl", json.dumps(values)), ("a.json", json.dumps([values]))):
        with pytest.raises(InputError) as e:
            rows_of({name: data.replace("TEXT", text)}, "entity_jsonl")
        assert e.value.code == "input-encoding"


def test_a_surrogate_pair_is_one_character() -> None:
    assert names_of(rows_of({"a.jsonl": '{"concept_id": "C1", "canonical_name": "\\ud83d\\ude00"}'}, "entity_jsonl")) == [
        ("umls:C1", "\U0001f600", "preferred")
    ]


@pytest.mark.real_data
def test_reads_real_entities(real_data: Path) -> None:
    source = Source.open(real_data / "umls_like" / "scispacy_umls_test_fixture.json")
    assert readers.detect(source) == "entity_jsonl"
    rows = [row for batch in readers.read(source, "entity_jsonl") for row in batch.to_pylist()]
    entities = json.loads((real_data / "umls_like" / "scispacy_umls_test_fixture.json").read_text())
    assert [row["name"] for row in rows if row["kind"] == 0] == [entity["canonical_name"] for entity in entities]
    assert sum(row["kind"] == 1 for row in rows) == sum(len(entity["aliases"]) for entity in entities)
