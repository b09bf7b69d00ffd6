"""Isolates errors to single documents, and writes the problems of a run to a file.

Documents are processed in batches; if a batch fails, each of its documents is processed alone. An error about a document
(`InputError`, `LimitError`) becomes a problem with the error's code. An unexpected exception becomes the problem
`internal-error`, with its type and where in Onym it was raised, but without its message, which may contain document text.
`ConfigError` and `IntegrityError` concern all documents and end the run.

The problem file contains JSON lines with the file, the document and the code, but no text:

    {"source":"a.txt","ordinal":3,"document":"10192393","code":"input-encoding","what":"not valid UTF-8","where":"a.txt:9"}

An `ordinal` of 0 means the whole file. A run that ends with an error leaves no problem file. The exception is a run that ends
because there are too many problems. The problem file of an earlier run is replaced; any other file is not.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self, TypeVar

from onym.corpora.base import DELETED, Item
from onym.errors import ConfigError, InputError, IntegrityError, is_failure, to_onym_error
from onym.store.arrays import require_whole_maps
from onym.store.output import whole_file
from onym.types import Document, LinkedDocument, Problem, iter_checked

S = TypeVar("S", bound="HasId")
T = TypeVar("T")
INTERNAL = "internal-error"
KEEPS_ALL = frozenset({"corpus-bytes", "corpus-duplicate", DELETED})
"""Codes of problems that lose neither a document nor a mention."""
_log = logging.getLogger("onym.corpora")


class HasId(Protocol):
    """A document, or something that stands for one."""

    @property
    def id(self) -> str:
        """The id of the document."""


def isolate(
    items: Iterable[S],
    act: Callable[[Sequence[S]], Iterable[T]],
    failed: Callable[[S, Problem], T],
    *,
    batch: int,
    kind: type[S] = Document,  # type: ignore[assignment]
) -> Iterator[T]:
    """Yield the results of `act` for batches of documents. If `act` raises for a document, yield the result of `failed`.

    `items` are documents, or objects of another `kind` with the `id` of their document.

    >>> def lengths(docs):
    ...     return [10 // len(doc.text) for doc in docs]
    >>> docs = [Document("1", "fever"), Document("2", "")]
    >>> list(isolate(docs, lengths, lambda doc, problem: problem.what, batch=64))
    [2, 'ZeroDivisionError outside of Onym; this is a bug in Onym or in a plug-in']
    """

    def act_alone(item: S) -> list[T]:
        try:
            return list(act([item]))
        except BaseException as e:
            if _concerns_all(e):
                raise
            problem = problem_of(e, item.id)
            _log.warning("document %s: %s: %s", problem.document_id, problem.code, problem.what)
            return [failed(item, problem)]

    rest = iter_checked(items, kind)
    while group := list(islice(rest, batch)):
        require_whole_maps()
        try:
            done = list(act(group))
        except BaseException as e:  # BaseException includes panics of Rust libraries; each document is then retried alone
            if _concerns_all(e):
                raise
            done = [result for item in group for result in act_alone(item)]
        yield from done


def _concerns_all(error: BaseException) -> bool:
    return isinstance(error, ConfigError | IntegrityError) or not is_failure(error)


def problem_of(error: BaseException, document_id: str) -> Problem:
    """Convert an exception to a problem. Messages of exceptions from other libraries are dropped, as they may contain text.

    >>> problem_of(ValueError("patient Smith"), "1").what
    'ValueError outside of Onym; this is a bug in Onym or in a plug-in'
    """
    if isinstance(error.__cause__, _ProblemError):  # raised by `require_complete` in a nested component
        return error.__cause__.problem
    ours = to_onym_error(error, caught_in=__file__)
    return Problem(document_id, ours.code, ours.what, ours.where)


def require_complete(linked: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
    """Yield linked documents; raise InputError at the first document that could not be linked.

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
    """An exception that carries a document's problem from a nested component to the caller."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


_MAX = re.compile(r"([0-9]+)|([0-9]+(?:\.[0-9]+)?)%")
_SHOWN = 20  # maximum number of problems that are passed to `show`
_LINE_BYTES = 1 << 20
_ENOUGH = 100  # number of documents after which the maximum share is first checked; it is also checked at the end of a run


@dataclass(frozen=True, slots=True)
class MaxProblems:
    """The maximum number of problems, or their maximum share of the documents; no limit if both are None.

    >>> MaxProblems.parse("5%").share, MaxProblems.parse("10").count
    (0.05, 10)
    """

    count: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a number (`100`) or a percentage (`5%`); an empty string means no limit."""
        found = _MAX.fullmatch(text.strip())
        if text and not found:
            fix = "give a number such as 100, or a percentage such as 5%"
            raise ConfigError("config-invalid", f"invalid maximum number of problems: {text!r}", fix=fix)
        if not found:
            return cls()
        return cls(count=int(found[1])) if found[1] else cls(share=float(found[2]) / 100)


class _DiscardError(Exception):
    """Passed to `whole_file` as an exception, so that it discards the temp file."""


def _is_explained_by_problems(error: BaseException) -> bool:
    return isinstance(error, InputError) and error.code == "problems-exceeded"


class ProblemLog:
    """Writes the problems of a stream of items to a file, and raises if there are too many.

    Without a path, the first problems are passed to `show`. With `always`, the file is written even if there are no problems.
    With `force`, it may replace a file that is not the problem file of an earlier run.

    >>> path = getfixture("tmp_path") / "problems.jsonl"
    >>> with ProblemLog(path) as log:
    ...     _ = list(log.watch([Problem("7", "corpus-malformed", "a line has no tab", "a.ann:1", "a.txt", 1)]))
    >>> path.read_text()
    '{"source":"a.txt","ordinal":1,"document":"7","code":"corpus-malformed","what":"a line has no tab","where":"a.ann:1"}\\n'
    """

    def __init__(
        self,
        path: Path | None,
        bound: MaxProblems = MaxProblems(),  # noqa: B008
        *,
        show: Callable[[Problem], None] = lambda _: None,
        always: bool = False,
        force: bool = False,
    ) -> None:
        exists = path is not None and path.exists()
        if path is not None and exists and not (force or _is_problem_file(path)):
            fix = "give another path with --problems, or add --force"
            raise ConfigError("output-exists", "the path of the problem file has another file", where=str(path), fix=fix)
        self.path, self.count, self._show = path, 0, show
        self._bound, self._always = bound, always or exists  # an old problem file is replaced even by an empty file
        self._documents = self._lost = 0
        self._stack = ExitStack()
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        if self.path and self._always:
            self._open(self.path)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or _is_explained_by_problems(error):
            self._stack.close()
            return
        with suppress(_DiscardError):  # makes `whole_file` remove its temp file
            self._stack.__exit__(_DiscardError, _DiscardError(), None)

    def watch(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, writing the problems among them to the file."""
        for item in items:
            if isinstance(item, Problem):
                self.add(item)
            else:
                self._documents += 1
            yield item
        self._require_few(is_over=True)

    def watch_linked(self, linked: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
        """Yield linked documents, writing their problems to the file."""
        for each in linked:
            for problem in each.problems:
                self.add(problem, source=each.document.source, ordinal=each.document.ordinal)
            yield each
        self._require_few(is_over=True)

    def add(self, problem: Problem, *, source: str = "", ordinal: int = 0) -> None:
        """Write a problem to the file, and raise InputError if there are too many."""
        self.count += 1
        self._lost += problem.code not in KEEPS_ALL
        problem = replace(problem, source=source, ordinal=ordinal) if source else problem
        if self.path is None:
            if self.count <= _SHOWN:
                self._show(problem)
        else:
            line = json.dumps(problem_plain(problem), ensure_ascii=False, separators=(",", ":"))
            self._open(self.path).write(line.encode("utf-8", "replace") + b"\n")
        self._require_few()

    @property
    def hidden(self) -> int:
        """The number of problems that were neither written nor shown."""
        return 0 if self.path else max(0, self.count - _SHOWN)

    def _open(self, path: Path) -> BinaryIO:
        if self._file is None:
            self._file = self._stack.enter_context(whole_file(path, force=True))
        return self._file

    def _require_few(self, *, is_over: bool = False) -> None:
        seen = self._documents + self._lost
        is_judged = is_over or seen >= _ENOUGH
        is_many = self._bound.count is not None and self._lost > self._bound.count
        if is_many or (self._bound.share is not None and is_judged and self._lost > self._bound.share * seen):
            what = f"{self._lost:,} problems in {seen:,} documents are more than --max-problems allows"
            fix = f"see {'this file' if self.path else 'them above'}, or raise --max-problems"
            raise InputError("problems-exceeded", what, where=str(self.path or ""), fix=fix)


def _is_problem_file(path: Path) -> bool:
    """Return whether a file was written by a `ProblemLog`: it is empty, or its first line is a problem."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(_LINE_BYTES)
    try:
        return not first or json.loads(first).keys() == problem_plain(Problem("", "", "")).keys()
    except (ValueError, AttributeError, RecursionError):
        return False


def problem_plain(problem: Problem) -> dict[str, Any]:
    """Return the JSON object for a problem's line in the problem file."""
    return {
        "source": problem.source,
        "ordinal": problem.ordinal,
        "document": problem.document_id,
        "code": problem.code,
        "what": problem.what,
        "where": problem.where,
    }
