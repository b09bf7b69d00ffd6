"""Tests of the problems that `check_corpus` finds, besides those found while reading."""

from __future__ import annotations

from onym.corpora.check import check_corpus
from onym.types import Document, Mention, Problem, Relation


def codes(document: Document) -> list[str]:
    return [problem.code for problem in check_corpus([document])]


def test_a_valid_document_has_no_problems() -> None:
    mention = Mention(0, 5, "fever", ("mesh:D005334",), id="T1")
    relations = (Relation("r", (("a", "T1"), ("b", "mesh:D1"))),)
    assert codes(Document("1", "fever", (mention,), relations=relations)) == []


def test_each_kind_of_problem_is_found() -> None:
    fever = Mention(0, 5, "fever")
    assert codes(Document("1", " ")) == ["corpus-empty"]
    assert codes(Document("1", "fever ", (Mention(0, 6, "fever "),))) == ["corpus-spaces"]
    assert codes(Document("1", "fever", (fever, fever))) == ["corpus-twice"]
    assert codes(Document("1", "fever", (fever, Mention(0, 5, "fever", type="x")))) == []
    assert codes(Document("1", "fever", (fever,), relations=(Relation("r", (("a", "T9"),)),))) == ["corpus-relation"]


def test_problems_of_reading_are_yielded_without_text() -> None:
    problem = Problem("1", "corpus-offsets", "what")
    found = list(check_corpus([problem, Document("1", "secret ", (Mention(0, 7, "secret "),))]))
    assert found[0] == problem
    assert "secret" not in str(found)


def test_duplicate_ids_are_reported_except_for_parts_of_an_article() -> None:
    texts = [("1", "a"), ("1", "b"), ("2", "c"), ("1", "d"), ("1", "d"), ("2", "e")]
    docs = [Document(name, text, source="x.txt", ordinal=number) for number, (name, text) in enumerate(texts, 1)]
    assert [(problem.document_id, problem.code, problem.ordinal) for problem in check_corpus(docs)] == [
        ("1", "corpus-duplicate", 4), ("1", "corpus-duplicate", 5), ("2", "corpus-duplicate", 6),
    ]  # fmt: skip
