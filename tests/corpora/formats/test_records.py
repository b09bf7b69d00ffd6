"""Tests of reading JSON objects with texts."""

from __future__ import annotations

import json

import pytest

from onym.corpora.base import ReadOptions
from onym.corpora.corpus import read_sources
from onym.corpora.formats import detect
from onym.errors import ConfigError
from onym.types import Document, Problem
from tests.support.documents import source_of

ROWS = [{"pmid": 1, "title": "Asthma.", "abstract": "Fever."}, {"pmid": "2", "title": "Cough", "abstract": None}]


@pytest.mark.parametrize("data", ["\n".join(map(json.dumps, ROWS)), json.dumps(ROWS), json.dumps(ROWS, indent=1)])
def test_lines_and_lists_are_read(data: str) -> None:
    source = source_of(a__json=data)
    assert detect(source) == "records"
    docs = [item for item in read_sources([source]) if isinstance(item, Document)]
    assert [(doc.id, doc.text) for doc in docs] == [("1", "Asthma. Fever."), ("2", "Cough")]


@pytest.mark.parametrize(
    ("plain", "format_name"),
    [
        ({"id": "1", "text": "Fever"}, "jsonl"),
        ({"id": "1", "text": "Fever", "title": "A", "mentions": []}, "jsonl"),
        ({"id": "1", "text": "Fever", "ward": 7}, "jsonl"),
        ({"note_id": "1", "text": "Fever"}, "records"),
        ({"id": "1", "note": "Fever"}, "records"),
        ({"id": "1", "title": "A", "text": "Fever"}, "records"),
    ],
)
def test_onyms_own_documents_are_jsonl(plain: dict[str, object], format_name: str) -> None:
    assert detect(source_of(a__jsonl=json.dumps(plain))) == format_name


def test_a_document_with_mentions_or_without_text_is_a_problem() -> None:
    rows = [*ROWS, {"id": 3, "title": "Fever", "mentions": []}, {"id": 4, "ward": "Fever"}, {"id": 5, "text": 7}]
    items = list(read_sources([source_of(a__jsonl="\n".join(map(json.dumps, rows)))]))
    problems = [item for item in items[2:] if isinstance(item, Problem)]
    assert [(item.document_id, item.code, item.ordinal) for item in problems] == [
        (f"a.{number}", "corpus-malformed", number) for number in (3, 4, 5)
    ]


def test_keys_can_be_given_and_are_listed() -> None:
    source = source_of(a__json='{"nr": "x", "befund": "Fieber"}')
    (doc,) = read_sources([source], options=ReadOptions(("befund",), "nr"))
    assert isinstance(doc, Document)
    assert (doc.id, doc.text) == ("x", "Fieber")
    with pytest.raises(ConfigError, match="--text-column; the keys are nr, befund"):
        read_sources([source])
