"""Tests that spans become mentions in batches, and that a failing document does not affect the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from onym.errors import ConfigError, InputError, IntegrityError, LimitError
from onym.methods.detector import Span, detect_batches, with_spans
from onym.types import Document, Mention, Problem, Relation


def test_mentions_are_sorted_with_their_scores() -> None:
    doc = Document("1", "fever, cough", (Mention(0, 1, "f"),), relations=(Relation("R", (("Arg1", "T1"),)),))
    found = with_spans(doc, [Span(7, 12, 0.5), Span(0, 5, 0.9, "symptom")])
    assert [(m.start, m.end, m.surface, m.type) for m in found.document.mentions] == [
        (0, 5, "fever", "symptom"),
        (7, 12, "cough", ""),
    ]
    assert found.scores == (0.9, 0.5)
    assert found.document.relations == ()


@pytest.mark.parametrize(("start", "end"), [(3, 3), (4, 3), (-1, 2)])
def test_rejects_empty_spans(start: int, end: int) -> None:
    with pytest.raises(InputError, match="type-offsets"):
        Span(start, end)


SECRET = "patient Smith"
Find = Callable[[Sequence[Document]], Iterator[Sequence[Span]]]


def documents(count: int) -> list[Document]:
    relation = Relation("R", (("Arg1", "T1"),))
    return [Document(str(number), "fever", (Mention(0, 1, "f", id="T1"),), relations=(relation,)) for number in range(count)]


def finding(errors: dict[str, Exception], sizes: list[int]) -> Find:
    """Return a function that finds a span per document, records batch sizes, and raises the errors given by document id."""

    def find(batch: Sequence[Document]) -> Iterator[Sequence[Span]]:
        sizes.append(len(batch))
        for doc in batch:
            if doc.id in errors:
                raise errors[doc.id]
            yield [Span(0, 5, 0.5)]

    return find


def test_detects_in_batches() -> None:
    sizes: list[int] = []
    found = detect_batches(iter(documents(5)), finding({}, sizes), batch=2)
    assert next(found).document.id == "0"
    assert sizes == [2]
    rest = list(found)
    assert [each.document.id for each in rest] == ["1", "2", "3", "4"]
    assert all((each.document.mentions[0].surface, each.scores, each.problems) == ("fever", (0.5,), ()) for each in rest)
    assert sizes == [2, 2, 1]


@pytest.mark.parametrize("error", [InputError, LimitError])
def test_document_error_becomes_a_problem(error: type[InputError | LimitError]) -> None:
    raised = error("limit-record", "a document is too long", where="token 9")
    found = list(detect_batches(documents(3), finding({"1": raised}, []), batch=3))
    assert [each.document.id for each in found] == ["0", "1", "2"]
    assert [each.scores for each in found] == [(0.5,), (), (0.5,)]
    assert found[1].problems == (Problem("1", "limit-record", "a document is too long", "token 9"),)
    assert (found[1].document.mentions, found[1].document.relations) == ((), ())
    assert found[1].document.text == "fever"


def test_bug_becomes_a_problem_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    found = list(detect_batches(documents(3), finding({"2": KeyError(SECRET)}, []), batch=3))
    assert [len(each.problems) for each in found] == [0, 0, 1]
    (problem,) = found[2].problems
    assert (problem.document_id, problem.code) == ("2", "internal-error")
    assert problem.what.startswith("KeyError in methods/detector.py:")
    assert SECRET not in repr(problem)
    assert SECRET not in caplog.text


def test_span_outside_the_text_becomes_a_problem() -> None:
    (found,) = detect_batches([Document("1", "fever")], lambda _: [[Span(3, 9)]])
    assert [problem.code for problem in found.problems] == ["type-offsets"]


@pytest.mark.parametrize("error", [ConfigError, IntegrityError])
def test_global_error_stops_the_run(error: type[ConfigError | IntegrityError]) -> None:
    found = detect_batches(documents(2), finding({"1": error("some-code", "for all")}, []), batch=1)
    assert next(found).document.id == "0"
    with pytest.raises(error, match="some-code"):
        next(found)
