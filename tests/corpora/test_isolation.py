"""Tests that an error in one document is reported as a problem and does not affect other documents."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from onym.corpora.problems import isolate, problem_of, require_complete
from onym.errors import ConfigError, DownloadError, InputError, IntegrityError, LimitError
from onym.methods.generative.template import template_named
from onym.store.arrays import map_file
from onym.store.files.stream import open_regular
from onym.types import Document, Link, LinkedDocument, Mention, Problem

SECRET = "patient Smith"


class PanicException(BaseException):
    """The exception raised by a panic in a Rust library (PyO3)."""


def documents(count: int) -> list[Document]:
    return [Document(str(number), SECRET) for number in range(count)]


def describe_failure(_doc: Document, problem: Problem) -> str:
    return f"{problem.document_id}: {problem.code}"


def acting(errors: dict[str, Exception], calls: list[list[str]]) -> object:
    def act(batch: Sequence[Document]) -> Iterator[str]:
        calls.append([doc.id for doc in batch])
        for doc in batch:
            if doc.id in errors:
                raise errors[doc.id]
            yield doc.id

    return act


def run(errors: dict[str, Exception], *, count: int = 5, batch: int = 2) -> tuple[list[str], list[list[str]]]:
    calls: list[list[str]] = []
    return list(isolate(documents(count), acting(errors, calls), describe_failure, batch=batch)), calls  # type: ignore[arg-type]


def test_documents_are_processed_in_batches() -> None:
    assert run({}) == (["0", "1", "2", "3", "4"], [["0", "1"], ["2", "3"], ["4"]])
    assert run({}, count=0) == ([], [])


def test_one_batch_is_read_at_a_time() -> None:
    taken: list[str] = []

    def stream() -> Iterator[Document]:
        for doc in documents(5):
            taken.append(doc.id)
            yield doc

    assert next(isolate(stream(), acting({}, []), describe_failure, batch=2)) == "0"  # type: ignore[arg-type]
    assert taken == ["0", "1"]


@pytest.mark.parametrize("error", [InputError, LimitError, DownloadError])
def test_only_the_document_that_raises_is_lost(error: type[InputError | LimitError]) -> None:
    found, calls = run({"2": error("limit-record", "too long")})
    assert found == ["0", "1", "2: limit-record", "3", "4"]
    assert calls == [["0", "1"], ["2", "3"], ["2"], ["3"], ["4"]]


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), RecursionError(), PanicException(SECRET), StopIteration(), AssertionError(SECRET)]
)
def test_any_exception_is_isolated(error: Exception) -> None:
    assert run({"0": error, "4": error})[0] == ["0: internal-error", "1", "2", "3", "4: internal-error"]


def test_memory_and_system_errors_have_their_own_codes() -> None:
    assert run({"0": MemoryError(SECRET), "4": OSError(24, "Too many open files")})[0] == [
        *("0: memory-exhausted", "1", "2", "3", "4: system-refused"),
    ]


@pytest.mark.parametrize(
    "error", [ConfigError("some-code", "x"), IntegrityError("some-code", "x"), KeyboardInterrupt(), SystemExit(143)]
)
@pytest.mark.parametrize("first", ["0", "1"])
def test_config_errors_integrity_errors_and_interrupts_end_the_run(error: Exception, first: str) -> None:
    with pytest.raises(type(error)):
        run({first: error})


def test_an_integrity_error_while_retrying_single_documents_ends_the_run() -> None:
    def act(batch: Sequence[Document]) -> list[str]:
        raise IntegrityError("kb-corrupt", "x") if len(batch) == 1 else ValueError

    with pytest.raises(IntegrityError, match="kb-corrupt"):
        list(isolate(documents(2), act, describe_failure, batch=2))


def test_errors_of_the_input_iterator_are_raised() -> None:
    def stream() -> Iterator[Document]:
        yield from documents(1)
        raise InputError("input-missing", "the file is gone")

    with pytest.raises(InputError, match="input-missing"):
        list(isolate(stream(), acting({}, []), describe_failure, batch=8))  # type: ignore[arg-type]


def test_an_error_of_onym_is_reported_with_code_and_location() -> None:
    problem = problem_of(LimitError("limit-record", "too long", where="token 9", fix="cut it"), "7")
    assert problem == Problem("7", "limit-record", "too long", "token 9")


def test_a_foreign_exception_is_reported_by_type_and_location() -> None:
    try:
        template_named([])  # type: ignore[arg-type]
    except Exception as e:
        problem = problem_of(e, "7")
    assert (problem.code, problem.document_id) == ("internal-error", "7")
    assert problem.what.startswith("TypeError in methods/generative/template.py:")


def test_messages_of_foreign_exceptions_are_not_reported_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    problems: list[Problem] = []

    def keep(_doc: Document, problem: Problem) -> str:
        problems.append(problem)
        return ""

    with caplog.at_level(logging.DEBUG):
        list(isolate(documents(2), acting({"1": ValueError(SECRET)}, []), keep, batch=2))  # type: ignore[arg-type]
    assert problems == [Problem("1", "internal-error", "ValueError outside of Onym; this is a bug in Onym or in a plug-in")]
    assert "document 1: internal-error: ValueError" in caplog.text
    assert SECRET not in caplog.text


def test_require_complete_raises_at_the_first_failed_document() -> None:
    fever = Mention(0, 5, "fever")
    done = LinkedDocument(Document("1", "fever", (fever,)), (Link(fever),))
    lost = LinkedDocument(Document("2", "fever", (fever,)), problems=(Problem("2", "limit-record", "too long"),))
    assert list(require_complete([done, done])) == [done, done]
    linked = require_complete([done, lost])
    assert next(linked) is done
    with pytest.raises(InputError, match="document-failed") as caught:
        next(linked)
    assert caught.value.what == "limit-record: too long"
    assert caught.value.where == "document 2"


def test_a_truncated_memory_map_ends_the_run_before_the_next_batch(tmp_path: Path) -> None:
    (tmp_path / "column").write_bytes(bytes(9_000))
    with open_regular(tmp_path / "column") as file:
        column = map_file(file, tmp_path / "column", np.dtype(np.uint8))
    done = isolate(documents(4), lambda batch: [int(column[-1]) for _ in batch], lambda _doc, _problem: -1, batch=2)
    assert [next(done), next(done)] == [0, 0]
    os.truncate(tmp_path / "column", 0)
    with pytest.raises(IntegrityError, match="truncated"):
        next(done)
    os.truncate(tmp_path / "column", 9_000)  # restore the file, because later tests check all memory maps
