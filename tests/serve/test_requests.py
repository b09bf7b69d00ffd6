"""Bodies of requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onym.errors import InputError
from onym.serve.requests import MAX_TERM, MAX_TERMS, LinkRequest, MapRequest, parse

SECRET = "patient Smith"


def test_a_text_and_a_document() -> None:
    assert parse(LinkRequest, b'{"text": "", "top_k": 3}').top_k == 3
    wanted = parse(LinkRequest, json.dumps({"document": {"id": "1", "text": "fever"}, "types": ["Disease"]}).encode())
    assert (wanted.characters, wanted.types) == (5, ["Disease"])
    assert parse(MapRequest, b'{"terms": ["fever", null]}').characters == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"text": SECRET, "document": {"text": SECRET}},
        {"text": [SECRET]},
        {"text": SECRET, SECRET: 1},
        {"text": SECRET, "top_k": 0},
        {"text": SECRET, "top_k": SECRET},
        {"text": SECRET, "precision": 1.0},
        {"text": SECRET, "types": SECRET},
        {"text": SECRET, "types": [SECRET * MAX_TERM]},
        {"text": SECRET, "format": SECRET},
        {"document": SECRET},
        SECRET,
        [SECRET],
        None,
    ],
)
def test_wrong_requests_are_refused_without_their_text(wrong: Any) -> None:
    with pytest.raises(InputError, match="request-malformed") as caught:
        parse(LinkRequest, json.dumps(wrong).encode())
    assert "Smith" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "wrong", [b"", b"{", b'{"text": "\xff"}', b'{"text": "\\ud800"}', b"[" * 100_000, b'{"text": "Smith"', b"\x00"]
)
def test_what_is_no_json_is_refused(wrong: bytes) -> None:
    with pytest.raises(InputError, match="request-malformed") as caught:
        parse(LinkRequest, wrong)
    assert "Smith" not in str(caught.value)


def test_terms_are_bounded() -> None:
    assert len(parse(MapRequest, json.dumps({"terms": ["a"] * MAX_TERMS}).encode()).terms) == MAX_TERMS
    for wrong in (["a"] * (MAX_TERMS + 1), ["a" * (MAX_TERM + 1)], [7]):
        with pytest.raises(InputError, match="request-malformed"):
            parse(MapRequest, json.dumps({"terms": wrong}).encode())


def test_explanations_are_for_links_alone() -> None:
    assert parse(LinkRequest, b'{"text": "fever", "explain": true}').explain
    with pytest.raises(InputError, match="explanations are for the format links"):
        parse(LinkRequest, b'{"text": "fever", "explain": true, "format": "document"}')
