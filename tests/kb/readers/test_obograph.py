"""Tests of reading OBO Graphs in JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onym.errors import InputError
from tests.kb.readers.conftest import Row, facts_of, names_of, rows_of
from tests.support.releases import SAMPLES

OBO = "http://purl.obolibrary.org/obo/"


def nodes(*members: Any) -> list[Row]:
    return rows_of({"a.json": json.dumps({"graphs": [{"id": "g", "nodes": list(members)}]})}, "obograph")


def node(meta: Any, **values: Any) -> list[Row]:
    return nodes({"id": f"{OBO}X_1", "lbl": "a", "type": "CLASS", "meta": meta, **values})


def test_reads_a_graph() -> None:
    rows = rows_of(SAMPLES["obograph"][0], "obograph")
    assert names_of(rows) == [
        ("made:0000001", "Made-up fever", "preferred"),
        ("made:0000001", "Doubtful fever", "exact"),
        ("made:0000001", "MUF", "abbreviation"),
        ("made:0000003", "obsolete Old fever", "retired"),
    ]
    assert facts_of(rows, "definition") == [("made:0000001", "A rise of doubt.")]
    assert facts_of(rows, "xrefs") == [("made:0000001", ["umls:C9000001"])]
    assert facts_of(rows, "successors") == [("made:0000009", ["made:0000001"]), ("made:0000003", ["made:0000001"])]


@pytest.mark.parametrize(
    ("pred", "kind"),
    [
        ("hasExactSynonym", "exact"),
        ("hasNarrowSynonym", "narrow"),
        ("hasBroadSynonym", "broad"),
        ("hasRelatedSynonym", "related"),
        ("http://www.geneontology.org/formats/oboInOwl#hasExactSynonym", "exact"),
        ("other", "related"),
    ],
)
def test_scopes(pred: str, kind: str) -> None:
    assert names_of(node({"synonyms": [{"pred": pred, "val": "b"}]}))[1:] == [("x:1", "b", kind)]


def test_nodes_need_only_an_id() -> None:
    assert nodes({"id": f"{OBO}X_1"}) == [{"concept_id": "x:1", "kind": "preferred"}]
    assert nodes({"id": f"{OBO}X_1", "lbl": "a", "meta": None}) == [{"concept_id": "x:1", "name": "a", "kind": "preferred"}]


@pytest.mark.parametrize("other", [{"type": "PROPERTY"}, {"type": "INDIVIDUAL"}, {"id": ""}, {"id": None}])
def test_nodes_that_are_not_classes_are_skipped(other: dict[str, Any]) -> None:
    assert node({}, **other) == []


def test_all_graphs_are_read() -> None:
    graph = {"nodes": [{"id": "X:1", "lbl": "a"}]}
    assert len(rows_of({"a.json": json.dumps({"@context": {}, "graphs": [graph, graph]})}, "obograph")) == 2


def test_a_graph_of_the_wrong_shape_gives_no_rows() -> None:
    assert rows_of({"a.json": '{"graphs": {"nodes": [{"id": "X:1"}]}}'}, "obograph") == []


@pytest.mark.parametrize(
    "meta",
    [
        "text", {"synonyms": {}}, {"synonyms": ["text"]}, {"synonyms": [{"pred": 1, "val": "b"}]},
        {"synonyms": [{"val": 5}]},
        {"xrefs": ["UMLS:C1"]}, {"definition": "text"}, {"definition": {"val": ["text"]}},
        {"basicPropertyValues": [{"val": 1}]},
    ],
)  # fmt: skip
def test_rejects_values_of_the_wrong_type(meta: Any) -> None:
    with pytest.raises(InputError) as e:
        node(meta)
    assert e.value.code == "json-shape"


def test_rejects_a_node_that_is_not_an_object() -> None:
    with pytest.raises(InputError) as e:
        nodes("text")
    assert e.value.code == "json-shape"
