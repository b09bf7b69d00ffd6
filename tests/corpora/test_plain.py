"""Tests of converting documents to plain values and back, and of malformed input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from onym.corpora.base import MalformedError
from onym.corpora.plain import from_plain, from_plain_linked, to_plain, to_plain_linked, with_answers
from onym.errors import InputError
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, Problem
from tests.support.documents import after_round_trip, documents, draw_linked_documents


@given(documents())
def test_documents_survive_conversion(document: Document) -> None:
    assert list(from_plain(json.loads(json.dumps(to_plain(document))), "x")) == [document]


@pytest.mark.parametrize(
    "plain",
    [
        [],
        {"id": 1.5, "text": "x"},
        {"id": True, "text": "x"},
        {"id": "1"},
        {"id": "1", "text": None, "mentions": {}},
        {"id": "1", "text": ["x"]},
        {"id": "1", "text": "x", "mentions": ["x"]},
        {"id": "1", "text": "x", "mentions": [{"start": "0", "end": 1}]},
        {"id": "1", "text": "x", "mentions": [{"start": True, "end": 1}]},
        {"id": "1", "text": "x", "mentions": [{"end": 1}]},
        {"id": "1", "text": "x", "mentions": [{"start": 0, "end": 1, "concept_ids": "mesh:D1"}]},
        {"id": "1", "text": "x", "mentions": [{"start": 0, "end": 1, "concept_ids": [1]}]},
        {"id": "1", "text": "x", "mentions": [{"start": 0, "end": 1, "parts": [[0]]}]},
        {"id": "1", "text": "x", "passages": [{"start": 0, "end": 2}]},
        {"id": "1", "text": "x", "relations": [{"type": "r", "arguments": [["a", 1]]}]},
        {"id": "1", "text": "x", "notes": [["a"]]},
    ],
)
def test_rejects_malformed_documents(plain: Any) -> None:
    with pytest.raises(MalformedError):
        list(from_plain(plain, "x"))


FEVER = Mention(5, 10, "fever", ("mesh:D9",))
DOC = Document("1", "high fever", (FEVER,))
CANDIDATE = Candidate("mesh:D005334", "fever", 0.5)


@given(draw_linked_documents())
def test_links_keep_all_their_evidence(linked: LinkedDocument) -> None:
    plain = json.loads(json.dumps(to_plain_linked(linked)))
    assert plain["schema"] == "linked-document/2"
    assert from_plain_linked(plain, "x") == after_round_trip(linked)


@given(draw_linked_documents())
def test_a_linked_document_is_read_as_a_plain_one(linked: LinkedDocument) -> None:
    assert list(from_plain(json.loads(json.dumps(to_plain_linked(linked))), "x")) == [with_answers(linked)]


def test_only_known_evidence_is_written() -> None:
    full = Link(FEVER, (CANDIDATE,), detection_score=0.0, stage="dense", confidence=0.0, nil_reason="below-threshold")
    assert to_plain_linked(LinkedDocument(DOC, (full,))) == {
        "id": "1",
        "text": "high fever",
        "mentions": [{"start": 5, "end": 10, "surface": "fever"}],
        "schema": "linked-document/2",
        "links": [
            {
                "candidates": [{"concept_id": "mesh:D005334", "name": "fever", "score": 0.5}],
                "detection_score": 0.0,
                "stage": "dense",
                "confidence": 0.0,
                "nil_reason": "below-threshold",
            }
        ],
    }
    bare = to_plain_linked(LinkedDocument(DOC, (Link(FEVER, (CANDIDATE,)),)))
    assert list(bare["links"][0]) == ["candidates"]
    assert bare["mentions"][0]["concept_ids"] == ["mesh:D005334"]
    lost = LinkedDocument(DOC, problems=(Problem("1", "limit-record", "too long"), Problem("1", "a-b", "c", "d")))
    assert to_plain_linked(lost) == {
        "id": "1",
        "text": "high fever",
        "schema": "linked-document/2",
        "problems": [{"code": "limit-record", "what": "too long"}, {"code": "a-b", "what": "c", "where": "d"}],
    }


def test_answers_replace_annotated_ids() -> None:
    for link, ids in (
        (Link(FEVER, (CANDIDATE,)), ("mesh:D005334",)),
        (Link(FEVER), ()),
        (Link(FEVER, (CANDIDATE,), nil_reason="below-threshold"), ()),
    ):
        (mention,) = with_answers(LinkedDocument(DOC, (link,))).mentions
        assert (mention.start, mention.end, mention.concept_ids) == (5, 10, ids)
    assert with_answers(LinkedDocument(DOC, problems=(Problem("1", "a-b", "c"),))).mentions == ()


@pytest.mark.parametrize(
    "links",
    [
        {},
        ["x"],
        [{}, {}],
        [{"candidates": ["x"]}],
        [{"candidates": [{"concept_id": 1, "name": "x", "score": 1.0}]}],
        [{"candidates": [{"concept_id": "a:1", "name": "x", "score": "1"}]}],
        [{"candidates": [], "detection_score": True}],
        [{"candidates": [], "stage": 1}],
        [{"candidates": [], "tied": -1}],
        [{"candidates": [], "tied": True}],
        [{"candidates": [], "tied": 1.0}],
        [{"candidates": [], "nil_reason": "bored"}],
        [{"candidates": [], "assertion": "negated"}],
        [{"candidates": [], "assertion": ["denied"]}],
    ],
)
def test_rejects_malformed_links(links: Any) -> None:
    with pytest.raises(MalformedError):
        from_plain_linked(to_plain(DOC) | {"links": links}, "x")


@pytest.mark.parametrize("assertion", [None, (), ("negated", "historical")])
def test_assertions_are_kept_and_empty_differs_from_none(assertion: Any) -> None:
    linked = LinkedDocument(DOC, (Link(FEVER, (CANDIDATE,), assertion=assertion),))
    plain = to_plain_linked(linked)
    assert ("assertion" in plain["links"][0]) == (assertion is not None)
    assert from_plain_linked(plain, "x").links[0].assertion == assertion


@pytest.mark.parametrize("tied", [0, 1, 7])
def test_ties_beyond_the_candidates_are_kept(tied: int) -> None:
    linked = LinkedDocument(DOC, (Link(FEVER, (CANDIDATE,), tied=tied),))
    plain = to_plain_linked(linked)
    assert plain["links"][0].get("tied", 0) == tied
    assert from_plain_linked(plain, "x").links[0].tied == tied


def test_missing_ties_are_counted_from_the_candidates() -> None:
    both = [{"concept_id": each, "name": "x", "score": 1.0} for each in ("a:1", "a:2")]
    assert from_plain_linked(to_plain(DOC) | {"links": [{"candidates": both}]}, "x").links[0].tied == 1


def test_rejects_wrong_mentions_and_malformed_problems() -> None:
    wrong = to_plain(DOC) | {"mentions": [{"start": 5, "end": 10, "surface": "cough"}], "links": [{"candidates": []}]}
    with pytest.raises(MalformedError):
        from_plain_linked(wrong, "x")
    with pytest.raises(MalformedError):
        from_plain_linked(to_plain(DOC) | {"problems": [{"code": 5}]}, "x")


def test_rejects_a_confidence_outside_0_to_1() -> None:
    with pytest.raises((MalformedError, InputError)):
        from_plain_linked(to_plain(DOC) | {"links": [{"candidates": [], "confidence": 1.5}]}, "x")
