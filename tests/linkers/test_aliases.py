"""Tests of finding aliases of a mention in the same document."""

from __future__ import annotations

import pytest

from onym.rerank.pool import aliases_of
from onym.types import Document, Mention


def document(text: str, *spans: tuple[int, int], types: tuple[str, str] = ("", "")) -> Document:
    return Document("1", text, tuple(Mention(a, b, text[a:b], type=kind) for (a, b), kind in zip(spans, types, strict=True)))


@pytest.mark.parametrize("text", ["abc (def)", "abc(def)", "abc [def]", "abc ( def )"])
def test_finds_alias_in_brackets(text: str) -> None:
    at = text.index("def")
    assert dict(aliases_of(document(text, (0, 3), (at, at + 3)), ["abc", "def"])) == {"abc": {"def"}, "def": {"abc"}}


@pytest.mark.parametrize("text", ["abc and def", "abc, (def)", "abc (a def)", "abc (def, x)", "abc def)"])
def test_ignores_mention_that_is_not_alone_in_brackets(text: str) -> None:
    at = text.index("def")
    assert not aliases_of(document(text, (0, 3), (at, at + 3)), ["abc", "def"])


def test_the_same_query_another_type_and_nested_mentions() -> None:
    doc = document("abc (def)", (0, 3), (5, 8), types=("Disease", "Chemical"))
    assert not aliases_of(doc, ["abc", "def"])
    assert not aliases_of(document("abc (def)", (0, 3), (5, 8)), ["abc", "abc"])
    assert not aliases_of(document("abc (def)", (0, 9), (5, 8)), ["abc def", "def"])
