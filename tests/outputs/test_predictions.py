"""Tests of reading and writing prediction files."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, OnymError
from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.predictions import (
    Line,
    NoMentions,
    Prediction,
    Predictions,
    are_predictions,
    lines_of,
    prediction_of,
    predictions_of,
    read_predictions,
    schema,
    write_predictions,
)
from onym.pipeline import Pipeline
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, Problem

ids = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1, max_size=3).map(tuple)
answers = st.lists(st.tuples(ids, st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 9)), max_size=4).map(tuple)
documents = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
evidence: dict[str, st.SearchStrategy[Any]] = {
    "tied": st.none() | st.integers(0, 99),
    "detection_score": numbers,
    "stage": st.none() | st.sampled_from(["exact", "dense", "generative"]),
    "confidence": st.none() | st.floats(0, 1),
    "nil_reason": st.none() | st.sampled_from(["no-candidate", "below-threshold", "filtered-out"]),
    "assertion": st.none() | st.sampled_from([(), ("negated",), ("historical", "other-experiencer")]),
}
predictions = st.builds(Prediction, documents, st.integers(0, 99), st.integers(0, 99), answers, **evidence)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
problems = st.builds(Problem, documents, st.sampled_from(["limit-record", "internal-error"]), words, words)


def write_lines(lines: Iterable[Line], source: dict[str, Any] | None = None) -> list[bytes]:
    file = io.BytesIO()
    write_predictions(lines, source or {}, file)
    return file.getvalue().splitlines()


@given(st.lists(predictions | problems | st.builds(NoMentions, documents), max_size=5))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, lines: list[Line]) -> None:
    path = tmp_path_factory.mktemp("p") / "p.jsonl"
    with path.open("wb") as file:
        assert write_predictions(lines, {"linker": "x"}, file) == len(lines)
    found = read_predictions(path)
    assert are_predictions(path)
    assert found.source == {"linker": "x"}
    first: dict[tuple[str, int, int], Prediction] = {}
    for one in lines:
        if isinstance(one, Prediction):
            first.setdefault((one.document_id, one.start, one.end), one)
    assert found.mentions == first
    assert list(found) == list(first.values())
    assert found.problems == tuple(one for one in lines if isinstance(one, Problem))
    assert found.without_mentions == tuple(one for one in lines if isinstance(one, NoMentions))
    assert found == Predictions.of(lines, {"linker": "x"})
    assert len(list(found.lines)) + found.repeated.total() == len(lines)


def test_lines_without_evidence_have_only_ids_offsets_and_scores() -> None:
    plain = Prediction("1", 0, 5, ((("mesh:D1",), 0.98, 0), (("mesh:D2", "mesh:D3"), 0.5, 1)))
    assert write_lines([plain, Prediction("2", 3, 4, ())], {"linker": "x"}) == [
        b'{"kind":"predictions","format":2,"source":{"linker":"x"}}',
        b'{"document":"1","start":0,"end":5,"answers":[["mesh:D1",0.98,0],[["mesh:D2","mesh:D3"],0.5,1]]}',
        b'{"document":"2","start":3,"end":4,"answers":[]}',
    ]


SAID: dict[str, Any] = {
    "detection_score": 0.9, "stage": "dense", "confidence": 0.0, "nil_reason": "below-threshold", "assertion": ("negated",),
}  # fmt: skip


def test_evidence_and_problems_have_separate_keys() -> None:
    one = Prediction("1", 0, 5, ((("mesh:D1",), 0.2, 0),), **SAID)
    assert write_lines([one, Problem("2", "limit-record", "too long"), Problem("3", "internal-error", "bug", "a.txt")])[1:] == [
        (
            b'{"document":"1","start":0,"end":5,"answers":[["mesh:D1",0.2,0]],'
            b'"detection_score":0.9,"stage":"dense","confidence":0.0,"nil_reason":"below-threshold","assertion":["negated"]}'
        ),
        b'{"document":"2","problem":{"code":"limit-record","what":"too long"}}',
        b'{"document":"3","problem":{"code":"internal-error","what":"bug","where":"a.txt"}}',
    ]


def test_a_mention_that_is_left_unlinked_has_no_answers_but_keeps_its_candidates() -> None:
    fever = Mention(0, 5, "fever")
    below = Link(fever, (Candidate("mesh:D005334", "fever", 0.2),), nil_reason="below-threshold")
    linked = [LinkedDocument(Document(name, "fever", (fever,)), (link,)) for name, link in (("1", below), ("2", Link(fever)))]
    found = Predictions.of(lines_of(linked), {})
    assert found.answers == {("1", 0, 5): (), ("2", 0, 5): ()}
    assert found.mentions["1", 0, 5].answers == ((("mesh:D005334",), 0.2, 0),)
    assert [one.nil_reason for one in found] == ["below-threshold", None]


def test_failed_document_is_a_problem_or_an_error() -> None:
    problem = Problem("1", "limit-record", "too long")
    lost = LinkedDocument(Document("1", "fever"), problems=(problem,))
    assert list(lines_of([lost])) == [problem]
    with pytest.raises(InputError, match="document-failed"):
        list(predictions_of([lost]))


def test_document_without_mentions_has_a_line() -> None:
    made = list(lines_of([LinkedDocument(Document("1", "fever"))]))
    assert made == [NoMentions("1")]
    assert write_lines(made)[1:] == [b'{"document":"1","mentions":0}']


def test_repeated_lines_are_counted() -> None:
    one, other = Prediction("1", 0, 5, ()), Prediction("1", 0, 5, ((("mesh:D1",), 1.0, 0),))
    found = Predictions.of([one, other, one], {})
    assert (list(found), found.repeated) == ([one], {(one.document_id, one.start, one.end): 2})


def test_contains_no_text_and_no_names(tiny_kb: Path) -> None:
    pipeline = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))
    doc = Document("1", "secret fever", (Mention(7, 12, "fever"),))
    file = io.BytesIO()
    write_predictions(predictions_of(pipeline.link_many([doc])), {**pipeline.source(), "dataset": "b"}, file)
    assert b"fever" not in file.getvalue()
    assert b"secret" not in file.getvalue()
    source = json.loads(file.getvalue().splitlines()[0])["source"]
    assert source["kb"]["digest"] == pipeline.kb.digest
    assert (source["linker"]["linker"], source["dataset"], source["top_k"]) == ("exact", "b", 10)


@pytest.mark.parametrize(
    "line",
    [
        '{"document":"1","start":0,"end":5}',
        '{"document":1,"start":0,"end":5,"answers":[]}',
        '{"document":"1","start":0,"end":5,"answers":[["a:1",1.0]]}',
        '{"document":"1","start":0,"end":5,"answers":[["a:1",1e999,0]]}',
        '{"document":"1","start":0,"end":5,"answers":[[[],1.0,0]]}',
        '{"document":"1","start":0,"end":5,"answers":[[["a",2],1.0,0]]}',
        '{"document":"1","start":0,"end":5,"answers":[],"stage":1}',
        '{"document":"1","start":0,"end":5,"answers":[],"detection_score":"high"}',
        '{"document":"1","start":0,"end":5,"answers":[],"confidence":1e999}',
        '{"document":"1","start":0,"end":5,"answers":[],"nil_reason":"bored"}',
        '{"document":"1","start":0,"end":5,"answers":[],"assertion":["denied"]}',
        '{"document":"1","start":0,"end":5,"answers":[],"assertion":[["negated"]]}',
        '{"document":"1","start":0,"end":5,"answers":[],"assertion":"negated"}',
        '{"document":"1","problem":{"code":"limit-record"}}',
        '{"document":1,"problem":{"code":"limit-record","what":"too long"}}',
        '{"document":"1","mentions":1}',
        '{"document":"1","mentions":false}',
        '{"document":"1","mentions":0,"answers":[]}',
        "[]",
        "nonsense",
    ],
)
def test_error_has_the_line_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"kind":"predictions","format":2,"source":{}}\n' + line + "\n")
    with pytest.raises(OnymError, match=r"predictions-malformed|json-malformed") as caught:
        read_predictions(path)
    assert caught.value.where == "p.jsonl:2"


@pytest.mark.parametrize("version", ["1", "3", '"2"', "null"])
def test_rejects_other_format_versions(tmp_path: Path, version: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"kind":"predictions","format":{version},"source":{{}}}}\n')
    with pytest.raises(InputError, match="predictions-version") as caught:
        read_predictions(path)
    assert caught.value.where == "p.jsonl:1"
    assert caught.value.fix == "write the file again with onym link"


@pytest.mark.parametrize("text", ["", "{}\n", '{"kind":"predictions","format":2}\n', "[]\n"])
def test_rejects_other_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(text)
    with pytest.raises(OnymError, match="predictions-malformed"):
        read_predictions(path)


def test_concepts_that_share_a_name_share_its_number(tiny_kb: Path) -> None:
    pipeline = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))
    (one,) = Predictions.of(predictions_of([pipeline.link(Document("1", "MI", (Mention(0, 2, "MI"),)))]), {})
    assert one.answers == ((("mesh:D006973",), 1.0, 0), (("mesh:D009203",), 1.0, 0))
    assert one.tied == 1


def test_name_numbers_do_not_depend_on_tie_breaking() -> None:
    fever = Mention(0, 5, "fever")
    candidates = (Candidate("b:1", "fever", 1.0), Candidate("a:1", "pyrexia", 1.0), Candidate("c:1", "heat", 2.0))
    for order in permutations(candidates):
        one = prediction_of(Link(fever, order), Document("1", "fever", (fever,)))
        assert {ids[0]: name for ids, _, name in one.answers} == {"c:1": 0, "a:1": 1, "b:1": 2}
        assert [ids[0] for ids, _, _ in one.answers] == [each.concept_id for each in order]


@pytest.mark.parametrize("tied", ["-1", "true", '"1"', "0.5"])
def test_rejects_an_invalid_tie_count(tmp_path: Path, tied: str) -> None:
    line = f'{{"document":"1","start":0,"end":5,"answers":[],"tied":{tied}}}'
    (tmp_path / "p.jsonl").write_text(f'{{"kind":"predictions","format":2,"source":{{}}}}\n{line}\n')
    with pytest.raises(InputError, match="predictions-malformed"):
        read_predictions(tmp_path / "p.jsonl")


def test_header_records_the_tie_breaking_order(tmp_path: Path, tiny_kb: Path) -> None:
    source = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))).source()
    assert source["order"] == {"ties": "decided", "vocabularies": ["mesh"]}
    with (tmp_path / "p.jsonl").open("wb") as file:
        write_predictions([], source, file)
    assert read_predictions(tmp_path / "p.jsonl").is_decided
    jsonschema.validate(json.loads((tmp_path / "p.jsonl").read_text()), schema("predictions-2"))


@pytest.mark.parametrize("order", [None, "decided", [], {}, {"ties": True}, {"ties": "by chance"}])
def test_ties_are_undecided_by_default(order: object) -> None:
    assert not Predictions.of([], {"order": order}).is_decided
    assert not Predictions.of([], {}).is_decided


def test_distinguishes_documents_with_the_same_id(tmp_path: Path) -> None:
    links = (Link(Mention(0, 5, "fever"), (Candidate("mesh:D005334", "fever", 1.0),)),)
    docs = [Document("1", "fever", (links[0].mention,), source="a.txt", ordinal=number) for number in (1, 2)]
    failed = LinkedDocument(replace(docs[0], ordinal=3), problems=(Problem("1", "limit-record", "too long"),))
    with (tmp_path / "p.jsonl").open("wb") as file:
        write_predictions(lines_of([*(LinkedDocument(doc, links) for doc in docs), failed]), {}, file)
    found = read_predictions(tmp_path / "p.jsonl")
    assert list(found.mentions) == [(("1", "a.txt", 1), 0, 5), (("1", "a.txt", 2), 0, 5)]
    assert [(problem.source, problem.ordinal) for problem in found.problems] == [("a.txt", 3)]
    for line in (tmp_path / "p.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), schema("predictions-2"))


@pytest.mark.parametrize("origin", ['"ordinal":-1', '"ordinal":true', '"ordinal":"1"', '"source":1'])
def test_rejects_invalid_source_and_ordinal(tmp_path: Path, origin: str) -> None:
    line = f'{{"document":"1",{origin},"start":0,"end":5,"answers":[]}}'
    (tmp_path / "p.jsonl").write_text(f'{{"kind":"predictions","format":2,"source":{{}}}}\n{line}\n')
    with pytest.raises(InputError, match="predictions-malformed"):
        read_predictions(tmp_path / "p.jsonl")
