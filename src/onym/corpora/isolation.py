"""One bad document costs one document: work on batches, and on each document alone where a batch fails.

An error about a document (`InputError`, `LimitError`) becomes that document's problem, with the error's code. So does a bug:
the problem `internal-error` names the exception's type and where in Onym it was raised, never a text. An error about the
caller's configuration or a damaged artefact (`ConfigError`, `IntegrityError`) concerns every document and ends the run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from onym.errors import ConfigError, InputError, IntegrityError, coded, is_failure
from onym.store.arrays import require_whole_maps
from onym.types import Document, LinkedDocument, Problem, iter_checked

T = TypeVar("T")
INTERNAL = "internal-error"
_log = logging.getLogger("onym.corpora")


def isolate(
    documents: Iterable[Document],
    act: Callable[[Sequence[Document]], Iterable[T]],
    failed: Callable[[Document, Problem], T],
    *,
    batch: int,
) -> Iterator[T]:
    """Yield what `act` makes of documents, `batch` at a time; for a document on which it raises, what `failed` makes.

    >>> def lengths(docs):
    ...     return [10 // len(doc.text) for doc in docs]
    >>> docs = [Document("1", "fever"), Document("2", "")]
    >>> list(isolate(docs, lengths, lambda doc, problem: problem.what, batch=64))
    [2, 'ZeroDivisionError outside of Onym; this is a bug in Onym or in a plug-in']
    """
    rest = iter_checked(documents, Document)
    while group := list(islice(rest, batch)):
        require_whole_maps()
        try:
            done = list(act(group))
        except BaseException as e:  # whatever it is, only the documents that raise it alone are lost
            if _concerns_all(e):
                raise
            done = [result for doc in group for result in _alone(doc, act, failed)]
        yield from done


def _alone(
    doc: Document, act: Callable[[Sequence[Document]], Iterable[T]], failed: Callable[[Document, Problem], T]
) -> list[T]:
    try:
        return list(act([doc]))
    except BaseException as e:
        if _concerns_all(e):
            raise
        problem = problem_of(e, doc.id)
        _log.warning("document %s: %s: %s", problem.document_id, problem.code, problem.what)
        return [failed(doc, problem)]


def _concerns_all(error: BaseException) -> bool:
    return isinstance(error, ConfigError | IntegrityError) or not is_failure(error)


def problem_of(error: BaseException, document_id: str) -> Problem:
    """Return an error as a document's problem. The message of a foreign exception may hold text, so it is left out.

    >>> problem_of(ValueError("patient Smith"), "1").what
    'ValueError outside of Onym; this is a bug in Onym or in a plug-in'
    """
    if isinstance(error.__cause__, _ProblemError):  # of a part that isolated it already
        return error.__cause__.problem
    ours = coded(error, caught_in=__file__)
    return Problem(document_id, ours.code, ours.what, ours.where)


def require_complete(linked: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
    """Yield documents that were linked; one that was not is an error: for callers that need all of them.

    >>> failed = LinkedDocument(Document("1", "fever"), problems=(Problem("1", "limit-record", "too long"),))
    >>> list(require_complete([failed]))
    Traceback (most recent call last):
    onym.errors.InputError: [document-failed] limit-record: too long...
    """
    for each in linked:
        if not each.is_complete:
            first = each.problems[0]
            what, where = f"{first.code}: {first.what}", f"document {first.document_id}"
            raise InputError("document-failed", what, where=where) from _ProblemError(first)
        yield each


class _ProblemError(Exception):
    """Carries the problem of a document from a part to the whole."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem
