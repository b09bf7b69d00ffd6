"""Tests of doccano's JSON lines: the examples of its documentation, and concept ids that come back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onym.corpora.formats import detect, doccano
from onym.types import Document, Mention, Problem
from tests.support.documents import source_of, write_to_memory

LABELLED = {"text": "EU rejects German call to boycott British lamb.", "label": [[0, 2, "ORG"], [11, 17, "MISC"]]}
RELATED = {
    "id": 7,
    "text": "Google was founded on September 4, 1998, by Larry Page.",
    "entities": [
        {"id": 0, "start_offset": 0, "end_offset": 6, "label": "ORG"},
        {"id": 1, "start_offset": 22, "end_offset": 39, "label": "DATE"},
    ],
    "relations": [{"id": 0, "from_id": 0, "to_id": 1, "type": "foundedAt"}],
    "Comments": [],
}


def read(*rows: dict[str, Any]) -> list[Document | Problem]:
    return list(doccano.read(source_of(a__jsonl="".join(json.dumps(row) + "\n" for row in rows))))


def test_reads_the_documented_examples() -> None:
    assert detect(source_of(a__jsonl=json.dumps(LABELLED))) == detect(source_of(a__json=json.dumps(RELATED))) == "doccano"
    one, other = read(LABELLED, RELATED)
    assert isinstance(one, Document)
    assert isinstance(other, Document)
    assert [(mention.surface, mention.type) for mention in one.mentions] == [("EU", "ORG"), ("German", "MISC")]
    assert [mention.surface for mention in other.mentions] == ["Google", "September 4, 1998"]
    assert other.id == "7"


def test_ids_come_back_with_the_labels_that_nobody_changed() -> None:
    mentions = (Mention(0, 2, "EU", ("mesh:D005062",), "Place"), Mention(11, 17, "German", (), "Place"))
    doc = Document("PMC1", "EU rejects German call.", mentions)
    written = write_to_memory(doccano, [doc])[""]
    assert list(doccano.read(source_of(b__jsonl=written))) == [doc]
    exported = {"id": 99, **json.loads(written), "Comments": []}
    exported["label"] = [[0, 2, "Place"], [3, 10, "Place"]]
    (again,) = read(exported)
    assert isinstance(again, Document)
    assert again.id == "PMC1"
    assert [(mention.surface, mention.concept_ids) for mention in again.mentions] == [
        ("EU", ("mesh:D005062",)),
        ("rejects", ()),
    ]


def test_a_label_may_be_an_id() -> None:
    (doc,) = read({"text": "fever", "label": [[0, 5, "MESH:D005334"]]})
    assert isinstance(doc, Document)
    assert (doc.mentions[0].type, doc.mentions[0].concept_ids) == ("", ("mesh:D005334",))


@pytest.mark.parametrize(
    "change",
    [
        {"text": 1},
        {"label": 1},
        {"label": [[0, 2]]},
        {"label": [[0, "2", "x"]]},
        {"label": [[0, True, "x"]]},
        {"concepts": [[0, 2, "ORG", [1]]]},
        {"entities": [{"start_offset": 0}]},
    ],
)
def test_malformed_documents_become_problems(change: dict[str, Any]) -> None:
    (problem,) = read({**LABELLED, **change})
    assert isinstance(problem, Problem)
    assert problem.code == "corpus-malformed"


def test_wrong_offsets_become_problems() -> None:
    problem, _ = read({**LABELLED, "label": [[40, 99, "x"]]})
    assert isinstance(problem, Problem)
    assert problem.code == "corpus-offsets"
