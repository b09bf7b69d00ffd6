"""Tests of parsing and validating reconciliation queries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onym.errors import InputError
from onym.serve.reconcile.routes import MAX_CONTEXT, characters_of, parse_extend, parse_queries
from onym.serve.routes import MAX_TERMS, PER_SURFACE
from tests.robustness.serve.reconcile_cases import NOT_A_LIMIT


def test_a_query_becomes_a_job() -> None:
    query = {"query": " MI ", "type": "Disease", "type_strict": "all", "limit": 2.9, "unknown": [1]}
    values = ["heart", 7, True, {"id": "x", "name": "note"}, {"id": "only"}, None, [1]]
    [found] = parse_queries(json.dumps({"q0": query | {"properties": [{"pid": "p", "v": values}]}})).values()
    assert found.job() == {"text": "MI", "types": ["Disease"], "is_all": True, "limit": 2, "context": "heart; 7; True; note"}


def test_missing_fields_have_defaults() -> None:
    [found] = parse_queries('{"q0": {}}').values()
    assert found.job() == {"text": "", "types": [], "is_all": False, "limit": None, "context": ""}
    [wish] = parse_queries('{"q0": {"query": "a", "type": ["Gene", ""], "type_strict": "should"}}').values()
    assert wish.types == []


def test_long_values_are_cut_or_dropped() -> None:
    long = {"query": "a" * 1_001, "limit": 1e300, "properties": [{"pid": "p", "v": "b" * 5_000}]}
    queries = parse_queries(json.dumps({"q0": long}))
    job = queries["q0"].job()
    assert (job["text"], job["limit"], len(job["context"])) == ("", MAX_TERMS, MAX_CONTEXT)
    assert characters_of(queries) == PER_SURFACE + 1_001 + MAX_CONTEXT


@pytest.mark.parametrize(
    "batch",
    [
        7, [], {"Smith": 7}, {"Smith": {"query": 7}}, {"Smith": {"limit": "Smith"}}, {"Smith": {"type_strict": "Smith"}},
        {"Smith": {"properties": [{"v": 1}]}}, {"Smith": {"properties": {}}}, {str(row): {} for row in range(1_001)},
    ],
)  # fmt: skip
def test_malformed_query_error_shows_no_text(batch: Any) -> None:
    with pytest.raises(InputError, match="request-malformed") as error:
        parse_queries(json.dumps(batch))
    assert "Smith" not in str(error.value)


@pytest.mark.parametrize("limit", NOT_A_LIMIT)
def test_rejects_invalid_limit(limit: str) -> None:
    with pytest.raises(InputError, match="request-malformed"):
        parse_queries(f'{{"q0": {{"query": "a", "limit": {limit}}}}}')


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400"])
def test_rejects_nan_and_infinity_anywhere(number: str) -> None:
    with pytest.raises(InputError, match="request-malformed"):
        parse_queries(f'{{"q0": {{"query": "a", "unknown": [{{"x": {number}}}]}}}}')
    with pytest.raises(InputError, match="request-malformed"):
        parse_extend(f'{{"ids": [], "properties": [{{"id": "name", "settings": {{"limit": {number}}}}}]}}')


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\udcff", '{"ids": ["a"]}', '{"ids": [7], "properties": []}'])
def test_rejects_malformed_extension(text: str) -> None:
    with pytest.raises(InputError, match="request-malformed"):
        parse_extend(text)
