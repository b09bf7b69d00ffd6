"""Tests of finding aliases of a mention in the same document."""

from __future__ import annotations

import pytest

from onym.methods.reranker.pool import aliases_of
from onym.text.queries import Query, queries_of
from onym.types import Document, Mention


def queries(text: str, *spans: tuple[int, int], types: tuple[str, str] = ("", "")) -> list[Query]:
    mentions = (Mention(a, b, text[a:b], type=kind) for (a, b), kind in zip(spans, types, strict=True))
    return queries_of(Document("1", text, tuple(mentions)))


@pytest.mark.parametrize("text", ["abc (def)", "abc(def)", "abc [def]", "abc ( def )"])
def test_finds_alias_in_brackets(text: str) -> None:
    at = text.index("def")
    assert dict(aliases_of(queries(text, (0, 3), (at, at + 3)))) == {"abc": {"def"}, "def": {"abc"}}


@pytest.mark.parametrize("text", ["abc and def", "abc, (def)", "abc (a def)", "abc (def, x)", "abc def)"])
def test_ignores_mention_that_is_not_alone_in_brackets(text: str) -> None:
    at = text.index("def")
    assert not aliases_of(queries(text, (0, 3), (at, at + 3)))


def test_the_same_query_another_type_and_nested_mentions() -> None:
    assert not aliases_of(queries("abc (def)", (0, 3), (5, 8), types=("Disease", "Chemical")))
    assert not aliases_of(queries("abc (ABC)", (0, 3), (5, 8)))
    assert not aliases_of(queries("abc (def)", (0, 9), (5, 8)))
