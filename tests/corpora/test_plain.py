"""Documents as plain values: everything there and back, and nothing of a wrong shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from onym.corpora.draft import MalformedError
from onym.corpora.plain import from_plain, to_plain
from onym.types import Document
from tests.corpora.strategies import documents


@given(documents())
def test_everything_comes_back(document: Document) -> None:
    assert list(from_plain(json.loads(json.dumps(to_plain(document))), "x")) == [document]


@pytest.mark.parametrize(
    "plain",
    [
        [],
        {"id": 1, "text": "x"},
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
def test_wrong_shapes_are_malformed(plain: Any) -> None:
    with pytest.raises(MalformedError):
        list(from_plain(plain, "x"))
