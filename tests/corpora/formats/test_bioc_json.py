"""Tests of BioC in JSON: collections, lists, lines, and malformed documents."""

from __future__ import annotations

import json

import pytest

from onym.corpora.formats import bioc_json, detect
from onym.types import Document, Mention, Passage, Problem
from tests.support.documents import source_of

DOC = {
    "id": 7,
    "infons": {},
    "passages": [
        {
            "offset": 0,
            "infons": {"type": "title", "year": 2020},
            "text": "High fever",
            "annotations": [
                {
                    "id": "1",
                    "infons": {"identifier": "MESH:D005334", "type": "Disease"},
                    "text": "fever",
                    "locations": [{"offset": 5, "length": 5}],
                }
            ],
        }
    ],
}
WANTED = Document(
    "7",
    "High fever",
    (Mention(5, 10, "fever", ("mesh:D005334",), "Disease", "1", notes=(("ids", "MESH:D005334"),)),),
    (Passage(0, 10, "title", (("year", "2020"),)),),
)
ONE = json.dumps(DOC)
OTHER = ONE.replace('"id": 7', '"id": 8')


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"source": "x", "infons": {}, "documents": [DOC, json.loads(OTHER)]}),
        json.dumps({"PubTator3": [DOC, json.loads(OTHER)]}),
        f"[{ONE},{OTHER}]",
        json.dumps([DOC, json.loads(OTHER)], indent=1),
        f"{ONE}\n{OTHER}\n",
    ],
)
def test_reads_collections_lists_and_lines(text: str) -> None:
    source = source_of(a__json=text)
    assert detect(source) == "bioc_json"
    items = list(bioc_json.read(source))
    assert items[0] == WANTED
    assert [item.id for item in items if isinstance(item, Document)] == ["7", "8"]


def test_reads_one_document_over_several_lines() -> None:
    assert list(bioc_json.read(source_of(a__json=json.dumps(DOC, indent=2)))) == [WANTED]


@pytest.mark.parametrize(
    "bad",
    [
        '{"id": "1", "infons": {}, "passages": {}}',
        '{"id": "1", "infons": [1], "passages": [{"offset": 0, "text": "a"}]}',
        '{"id": "1", "infons": {}, "passages": [{"offset": "0", "text": "a"}]}',
        '{"id": "1", "infons": {}, "passages": [{"offset": 0, "text": 1}]}',
        '{"id": "1", "infons": {}, "passages": [{"offset": 0, "annotations": [{"locations": [{}]}]}]}',
        "[1]",
        "nonsense",
    ],
)
def test_reading_continues_after_a_malformed_line(bad: str) -> None:
    first, problem, last = bioc_json.read(source_of(a__json=f"{ONE}\n{bad}\n{OTHER}\n"))
    assert isinstance(problem, Problem)
    assert problem.code == "corpus-malformed"
    assert first == WANTED
    assert isinstance(last, Document)
