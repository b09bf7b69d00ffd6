"""Tests of all report pages: escaping, content security policy, and no empty sections."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.evaluate.content import ReportContent
from onym.evaluate.evaluation import Evaluation, compare, evaluate
from onym.evaluate.pages import comparison_page, end_to_end_page, linking_page, shorten
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.predictions import Predictions
from tests.evaluate.report.parsed import Page
from tests.evaluate.report.samples import HOSTILE, end_to_end_sample, linking_sample

BARE = ReportContent("exact", "bc5cdr", "test", "strict", "MeSH", ())


def both(task: EvaluationTask) -> tuple[Evaluation, Evaluation]:
    """Return the evaluation of a linker, and that of a linker without answers."""
    whole = predict(task, ExactLinker(task.kb))
    silent = Predictions.of((replace(one, answers=()) for one in whole), whole.source)
    return evaluate(task, whole, protocol="any-id"), evaluate(task, silent, protocol="any-id")


@pytest.fixture
def hostile_pages(task: EvaluationTask, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return each page with a concept that has a hostile name."""
    evaluations = both(task)
    monkeypatch.setattr(KnowledgeBase, "preferred_form", lambda kb, concept: HOSTILE)
    return {
        "linking": linking_page(linking_sample(HOSTILE)),
        "end to end": end_to_end_page(end_to_end_sample(HOSTILE)),
        "comparison": comparison_page(compare(*evaluations), evaluations, ("a", "b"), task.kb),
    }


@pytest.mark.parametrize("name", ["linking", "end to end", "comparison"])
def test_concept_names_are_escaped(name: str, hostile_pages: dict[str, str]) -> None:
    text = hostile_pages[name]
    assert "<script" not in text
    assert "<img" not in text
    assert not {"\x1b", "\u202e"} & set(text)
    page = Page(text)
    assert "<script>alert('x')</script>" in "".join(page.words)
    assert not any(attribute.startswith("on") for _, attribute, _ in page.attributes)
    assert "default-src 'none'" in " ".join(page.values_of("content"))


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=160))
def test_arbitrary_text_is_escaped(text: str) -> None:
    made = linking_page(replace(BARE, linker=f"[{text}]", manifest=((text, text),)))
    assert set(made[: made.index("<style>")] + made[made.index("</style>") :]).isdisjoint("\x00\x1b\r\u202e")
    page = Page(made)
    assert page.tags == Page(linking_page(replace(BARE, manifest=(("a", "b"),)))).tags
    assert page.tags["script"] == 0


def test_page_has_a_title_and_no_empty_sections() -> None:
    page = Page(linking_page(BARE))
    assert "exact on bc5cdr (test): Onym" in page.words
    assert page.values_of("aria-labelledby") == ["figures", "left-out"]
    assert "Nothing was left out." in page.words


def test_left_out_section() -> None:
    assert "1,055" in Page(linking_page(replace(BARE, left_out=(("no id", 1055),)))).words


def test_manifest_is_escaped() -> None:
    assert "<code>&lt;b&gt;</code>" in linking_page(replace(BARE, manifest=(("kb", "<b>"),)))


def test_missing_answers_are_labelled_and_ids_not_repeated() -> None:
    mistake = replace(linking_sample().mistakes[1], gold="a:1", gold_ids="a:1")
    made = linking_page(replace(BARE, mistakes=(mistake,)))
    assert made.count('<td class="none">nothing</td>') == 2
    assert "<td>a:1</td>" in made


def test_number_columns_have_a_class() -> None:
    made = linking_page(replace(BARE, left_out=(("no id", 1),)))
    assert '<th scope="col">Reason</th><th scope="col" class="number">n</th>' in made


def test_long_text_is_truncated() -> None:
    assert shorten("x" * 161) == "x" * 160 + "…"


def test_comparison_page_works_without_matplotlib(task: EvaluationTask, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluations = both(task)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "McNemar" in comparison_page(compare(*evaluations), evaluations, ("a", "b"), task.kb)
