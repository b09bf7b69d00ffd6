"""Linking batch by batch: a document that cannot be linked costs no other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from onym.errors import ConfigError, InputError, IntegrityError, LimitError
from onym.linkers.base import link_batches
from onym.types import Candidate, Document, Link, Mention, Problem

SECRET = "patient Smith"
FEVER = Mention(0, 5, "fever")
LINK = Link(FEVER, (Candidate("mesh:D005334", "fever", 1.0),))


def documents(count: int) -> list[Document]:
    return [Document(str(number), "fever", (FEVER,)) for number in range(count)]


def linking(errors: dict[str, Exception], sizes: list[int]) -> object:
    """Return what links a batch, keeps its size, and raises the error of a document when it comes to it."""

    def link(batch: Sequence[Document]) -> Iterator[list[Link]]:
        sizes.append(len(batch))
        for doc in batch:
            if doc.id in errors:
                raise errors[doc.id]
            yield [LINK] * len(doc.mentions)

    return link


def test_documents_are_linked_in_batches_as_they_come() -> None:
    sizes: list[int] = []
    docs = documents(5)
    linked = link_batches(iter(docs), linking({}, sizes), batch=2)  # type: ignore[arg-type]
    assert next(linked).document is docs[0]
    assert sizes == [2]
    assert [(each.document, each.links) for each in linked] == [(doc, (LINK,)) for doc in docs[1:]]
    assert sizes == [2, 2, 1]


@pytest.mark.parametrize("error", [InputError, LimitError])
def test_an_error_about_a_document_is_its_problem(error: type[InputError | LimitError]) -> None:
    sizes: list[int] = []
    raised = error("limit-record", "a document is too long", where="token 9")
    docs = documents(5)
    linked = list(link_batches(docs, linking({"1": raised}, sizes), batch=3))  # type: ignore[arg-type]
    assert [each.document for each in linked] == docs
    assert [each.is_complete for each in linked] == [True, False, True, True, True]
    assert linked[1].links == ()
    assert linked[1].problems == (Problem("1", "limit-record", "a document is too long", "token 9"),)
    assert all(each.links == (LINK,) and not each.problems for each in linked if each.document.id != "1")
    assert sizes == [3, 1, 1, 1, 2]  # the batch that failed is done again, one by one


def test_a_bug_is_the_problem_of_its_document_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    linked = list(link_batches(documents(3), linking({"2": ValueError(SECRET)}, []), batch=3))  # type: ignore[arg-type]
    assert [each.is_complete for each in linked] == [True, True, False]
    (problem,) = linked[2].problems
    assert (problem.document_id, problem.code) == ("2", "internal-error")
    assert problem.what.startswith("ValueError in linkers/base.py:")
    assert SECRET not in repr(problem)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("error", [ConfigError, IntegrityError])
def test_an_error_that_concerns_all_documents_ends_the_run(error: type[ConfigError | IntegrityError]) -> None:
    linked = link_batches(documents(4), linking({"3": error("some-code", "for all")}, []), batch=2)  # type: ignore[arg-type]
    assert [next(linked).document.id, next(linked).document.id] == ["0", "1"]
    with pytest.raises(error, match="some-code"):
        next(linked)


def test_links_are_as_many_as_documents() -> None:
    (linked,) = link_batches(documents(1), lambda _: [], batch=2)
    assert [problem.code for problem in linked.problems] == ["internal-error"]
