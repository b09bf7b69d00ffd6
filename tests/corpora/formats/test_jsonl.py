"""Tests of Onym's JSONL: nothing is lost, and an invalid line does not affect the other lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.formats import detect, jsonl
from onym.corpora.plain import with_answers
from onym.errors import InputError
from onym.types import Document, LinkedDocument, Mention, Problem
from tests.support.documents import MemoryOutput, after_round_trip, draw_linked_documents, source_of, write_to_memory


def test_lines_are_plain_json() -> None:
    doc = Document("1", "high \u03b1\nfever", (Mention(7, 12, "fever", ("mesh:D005334",)),))
    line = write_to_memory(jsonl, [doc])[""].decode()
    assert line == (
        '{"id":"1","text":"high \u03b1\\nfever","mentions":'
        '[{"start":7,"end":12,"surface":"fever","concept_ids":["mesh:D005334"]}]}\n'
    )


def test_the_surface_is_optional_but_must_match() -> None:
    text = '{"id":"1","text":"fever","mentions":[{"start":0,"end":5},{"start":0,"end":5,"surface":"cough"}]}\n'
    problem, doc = jsonl.read(source_of(a__jsonl=text))
    assert isinstance(problem, Problem)
    assert isinstance(doc, Document)
    assert (problem.code, problem.where, len(doc.mentions)) == ("corpus-offsets", "a.jsonl:1", 1)


def test_bad_lines_become_problems() -> None:
    text = '{"id":"1","text":"a"}\nnot json\n\n[]\n{"id":"2","text":7}\n{"id":"3","text":"\\ud800"}\n{"id":"4","text":"b"}\n'
    items = list(jsonl.read(source_of(a__jsonl=text)))
    assert [item.id for item in items if isinstance(item, Document)] == ["1", "4"]
    problems = [(item.document_id, item.code) for item in items if isinstance(item, Problem)]
    assert problems == [(name, "corpus-malformed") for name in ("", "", "2", "")]


def test_reads_integer_ids_lists_and_single_objects() -> None:
    for text in ('{"id": 7, "text": "a"}\n', '[{"text": "a",\n "id": 7}]', '{\n "text": "a",\n "id": 7\n}\n'):
        (doc,) = jsonl.read(source_of(a__json=text))
        assert doc == Document("7", "a")
        assert detect(source_of(a__json=text)) == "jsonl"
    (problem,) = jsonl.read(source_of(a__jsonl='{"id": 1.5, "text": "a"}\n'))
    assert isinstance(problem, Problem)
    (problem,) = jsonl.read(source_of(a__jsonl='{"id": "1", "body": {"text": "a"}}\n'))
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.what) == ("1", "a document has no 'text'")


def test_other_json_is_not_recognised() -> None:
    assert jsonl.matches(source_of(a__jsonl='{ "id" : "x\\"y" , "text" : ""}'))
    assert not jsonl.matches(source_of(a__json='{"id": "1", "passages": []}'))
    assert detect(source_of(a__json='{"sourceid":"1","text":"x","denotations":[]}')) == "pubannotation"


@given(st.lists(draw_linked_documents(), max_size=3, unique_by=lambda linked: linked.document.id))
def test_linked_documents_are_read_back_and_readable_as_a_corpus(linked: list[LinkedDocument]) -> None:
    output = MemoryOutput()
    jsonl.write_linked(linked, output)
    assert list(jsonl.read_linked(output.source("a.jsonl"))) == [after_round_trip(each) for each in linked]
    assert list(jsonl.read(output.source("a.jsonl"))) == [with_answers(each) for each in linked]


@pytest.mark.parametrize("line", ["not json", "[]", '{"id":"1","text":7}', '{"id":"1","text":"x","links":[{}]}'])
def test_an_invalid_linked_line_raises_with_its_location(line: str) -> None:
    source = source_of(a__jsonl='{"id":"0","text":"","schema":"linked-document/2"}\n' + line + "\n")
    with pytest.raises(InputError, match="corpus-malformed") as caught:
        list(jsonl.read_linked(source))
    assert caught.value.where == "a.jsonl:2"


def test_an_invalid_first_line_loses_one_document() -> None:
    items = list(jsonl.read(source_of(a__jsonl='[{"text": \n{"id": "2", "text": "fever"}\n')))
    assert [item.id for item in items if isinstance(item, Document)] == ["2"]
