"""Tests of PubAnnotation: denotations, attributes, relations, and denotations whose `obj` is an id."""

from __future__ import annotations

import json

import pytest

from onym.corpora.formats import detect, pubannotation
from onym.types import Document, Problem, Relation
from tests.support.documents import source_of, write_to_memory

DOC = {
    "sourcedb": "PubMed",
    "sourceid": "7",
    "text": "Breast and ovarian cancer",
    "denotations": [
        {"id": "T1", "span": {"begin": 11, "end": 25}, "obj": "Disease"},
        {"id": "T2", "span": [{"begin": 0, "end": 6}, {"begin": 19, "end": 25}], "obj": "MESH:D001943"},
        {"span": {"begin": 0, "end": 6}, "obj": "http://purl.obolibrary.org/obo/UBERON_0000310"},
    ],
    "attributes": [
        {"id": "A1", "subj": "T1", "pred": "concept_id", "obj": "MESH:D010051"},
        {"id": "A2", "subj": "T1", "pred": "sure", "obj": True},
    ],
    "relations": [{"id": "R1", "pred": "is", "subj": "T1", "obj": "T2"}],
}


@pytest.mark.parametrize("text", [json.dumps(DOC), json.dumps([DOC]), json.dumps(DOC, indent=1)])
def test_reads_a_document_with_all_features(text: str) -> None:
    source = source_of(a__json=text)
    assert detect(source) == "pubannotation"
    (doc,) = pubannotation.read(source)
    assert isinstance(doc, Document)
    first, second, third = doc.mentions
    assert (first.type, first.concept_ids, first.notes) == ("Disease", ("mesh:D010051",), (("sure", "true"),))
    assert (second.type, second.concept_ids, second.parts) == ("", ("mesh:D001943",), ((0, 6), (19, 25)))
    assert third.concept_ids == ("uberon:0000310",)
    assert doc.relations == (Relation("is", (("Arg1", "T1"), ("Arg2", "T2")), "R1"),)
    again = write_to_memory(pubannotation, [doc])[""]
    assert json.loads(again)[0]["denotations"][1]["obj"] == "MESH:D001943"
    assert list(pubannotation.read(source_of(b__json=again))) == [doc]


@pytest.mark.parametrize(
    ("key", "value"),
    [("text", 1), ("denotations", [{"obj": "x"}]), ("denotations", [{"span": {"begin": "0", "end": 1}}]), ("relations", [1])],
)
def test_malformed_documents_become_problems(key: str, value: object) -> None:
    (problem,) = pubannotation.read(source_of(a__json=json.dumps({**DOC, key: value})))
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("7", "corpus-malformed")


def test_wrong_offsets_become_problems() -> None:
    plain = {**DOC, "denotations": [{"span": {"begin": 20, "end": 99}, "obj": "x"}], "relations": []}
    problem, _ = pubannotation.read(source_of(a__json=json.dumps(plain)))
    assert isinstance(problem, Problem)
    assert problem.code == "corpus-offsets"
