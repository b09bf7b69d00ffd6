"""The parts of a page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onym.evaluate.report.page import concept_cell, escaped, heads, left_out, manifest, page, shortened
from tests.evaluate.report.parsed import Page


@given(st.text(st.characters(codec="utf-8")))
def test_escaped_text_means_itself(text: str) -> None:
    assert not set("<>\"'\x00\n") & set(escaped(text))


def test_a_page_forbids_scripts_and_leaves_out_empty_sections() -> None:
    made = Page(page("a title", ["<p>text</p>", ""]))
    assert "default-src 'none'" in " ".join(made.named("content"))
    assert made.tags["p"] == 1
    assert "a title: Onym" in made.words


def test_what_was_left_out() -> None:
    assert "Nothing was left out." in left_out([])
    assert "1,055" in left_out([("no id", 1055)])


def test_without_values_there_is_no_manifest() -> None:
    assert manifest([]) == ""
    assert "&lt;b&gt;" in manifest([("kb", "<b>")])


def test_an_empty_answer_says_nothing() -> None:
    assert concept_cell("", "") == '<td class="none">nothing</td>'
    assert concept_cell("a:1", "a:1") == "<td>a:1</td>"


def test_columns_of_numbers_are_marked() -> None:
    assert heads(("a", "n"), words=1) == '<th scope="col" >a</th><th scope="col" class="number">n</th>'


def test_long_text_is_cut() -> None:
    assert shortened("x" * 161) == "x" * 160 + "…"
