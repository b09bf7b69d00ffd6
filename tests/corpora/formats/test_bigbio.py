"""Tests of reading BigBIO's KB schema, and of malformed documents."""

from __future__ import annotations

import json

import pytest

from onym.corpora.formats import bigbio, detect
from onym.types import Document, Passage, Problem, Relation
from tests.support.documents import assert_preserved, source_of, write_to_memory

DOC = {
    "id": "0",
    "document_id": "7",
    "passages": [
        {"id": "1", "type": "title", "text": ["Breast and"], "offsets": [[0, 10]]},
        {"id": "2", "type": "abstract", "text": ["ovarian cancer"], "offsets": [[11, 25]]},
    ],
    "entities": [
        {
            "id": "3", "type": "Disease", "text": ["Breast", "cancer"], "offsets": [[0, 6], [19, 25]],
            "normalized": [{"db_name": "MESH", "db_id": "D001943"}, {"db_name": "OMIM", "db_id": "-1"}],
        },
        {"id": "4", "type": "Disease", "text": ["cancer"], "offsets": [[19, 25]], "normalized": []},
    ],
    "events": [{"id": "5"}],
    "coreferences": [],
    "relations": [{"id": "6", "type": "is", "arg1_id": "3", "arg2_id": "4", "normalized": []}],
}  # fmt: skip


@pytest.mark.parametrize("text", [json.dumps(DOC), json.dumps([DOC]), json.dumps(DOC, indent=1)])
def test_reads_a_document_with_all_features(text: str) -> None:
    source = source_of(a__json=text)
    assert detect(source) == "bigbio"
    (doc,) = bigbio.read(source)
    assert isinstance(doc, Document)
    assert (doc.id, doc.text) == ("7", "Breast and ovarian cancer")
    assert doc.mentions[0].parts == ((0, 6), (19, 25))
    assert doc.mentions[0].concept_ids == ("mesh:D001943",)
    assert doc.relations == (Relation("is", (("Arg1", "3"), ("Arg2", "4")), "6"),)
    again = json.loads(write_to_memory(bigbio, [doc])[""])
    assert again["events"] == [{"id": "5"}]
    assert again["entities"][0]["normalized"] == [{"db_name": "MESH", "db_id": "D001943"}]
    assert list(bigbio.read(source_of(b__json=json.dumps(again)))) == [doc]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("passages", [{"type": "title", "text": ["x"], "offsets": []}]),
        ("passages", "x"),
        ("entities", [{"id": 3, "offsets": [[0, 1]]}]),
        ("entities", [{"id": "3", "offsets": [0, 1]}]),
        ("relations", [{"type": 1}]),
    ],
)
def test_malformed_documents_become_problems(key: str, value: object) -> None:
    (problem,) = bigbio.read(source_of(a__json=json.dumps({**DOC, key: value})))
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("7", "corpus-malformed")


def test_wrong_offsets_become_problems() -> None:
    entity = {"id": "3", "type": "x", "text": ["breast"], "offsets": [[0, 6]], "normalized": []}
    problem, doc = bigbio.read(source_of(a__json=json.dumps({**DOC, "entities": [entity]})))
    assert isinstance(problem, Problem)
    assert isinstance(doc, Document)
    assert problem.code == "corpus-offsets"


def test_a_single_passage_without_a_kind_is_not_counted_as_preserved() -> None:
    assert_preserved(bigbio, Document("1", "fever", passages=(Passage(0, 5, "", (("k", "v"),)),)))
