"""Tests that the suite `pipeline-hostile-text` detects errors, and finds none in a few of its texts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from onym.kb import KnowledgeBase
from onym.methods.detector import Detected, Span, detect_batches, with_spans
from onym.methods.exact import ExactLinker
from onym.pipeline.pipeline import Pipeline
from onym.types import Document
from tests.robustness.text import pipeline_hostile_text
from tests.robustness.text.pipeline_hostile_text import MAX_LENGTH, NAMES, Made, count_missed, judge_text, make, make_kb, run


def test_texts_are_deterministic_and_contain_all_difficulties() -> None:
    texts = [make(number) for number in range(1, 60)]
    assert texts == [make(number) for number in range(1, 60)]
    all_text = "".join(made.text for made in texts)
    for char in ("\r\n", "\u200b", "\u0301", "\U0001f9ec", "\u202e", "\u0130", "\ud83d"):
        assert char in all_text
    assert max(len(made.text) for made in texts) == MAX_LENGTH
    for made in texts:
        assert all(made.text[start:end] in NAMES for start, end in made.planted)


def test_finds_no_errors_in_some_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_hostile_text, "MAX_LENGTH", 5_000)
    figures = run(Namespace(quick=True, documents=12, detector="dictionary", seed=1))
    assert (figures["documents"], figures["offset_errors"], figures["crashes"]) == (12, 0, 0)
    assert isinstance(figures["mentions"], int)
    assert figures["mentions"] > 0


class Wrong:
    """A detector that finds one span, or raises."""

    def __init__(self, span: Span | None) -> None:
        self.config: dict[str, Any] = {}
        self._span = span

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        for doc in documents:
            if self._span is None:
                raise IndexError
            yield with_spans(doc, [self._span])


@pytest.mark.parametrize(
    ("span", "figure"), [(None, "crashes"), (Span(0, 3), "offset_errors"), (Span(90, 95), "crashes"), (Span(2, 7), "missed")]
)
def test_counts_errors(tmp_path: Path, span: Span | None, figure: str) -> None:
    linker = ExactLinker(KnowledgeBase.open(make_kb(tmp_path)))
    figures = judge_text(Pipeline(linker, Wrong(span)), Made("a fever or a fever", ((2, 7), (13, 18))), "1")
    assert figures[figure] == 1


def test_counts_problem_of_a_component_as_crash(tmp_path: Path) -> None:
    class Lost(Wrong):
        def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
            return detect_batches(documents, lambda _: [[Span(90, 95)]])

    linker = ExactLinker(KnowledgeBase.open(make_kb(tmp_path)))
    assert judge_text(Pipeline(linker, Lost(None)), Made("a fever", ()), "1")["crashes"] == 1
    assert judge_text(Pipeline(linker, Wrong(Span(2, 7))), Made("a fever", ()), "1")["crashes"] == 0


def test_counts_missed_names() -> None:
    assert count_missed(((0, 5), (7, 9), (20, 22)), [(0, 9), (19, 30)]) == 0
    assert count_missed(((0, 5), (7, 9)), [(1, 5)]) == 2
    assert count_missed((), [(1, 2)]) == 0
