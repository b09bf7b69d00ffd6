"""Tests of the HTML page of an end-to-end report."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from onym.evaluate.end_to_end import END_TO_END
from onym.evaluate.mistakes import KINDS, EndToEndMistakes
from onym.evaluate.pages import ERROR_DEFINITIONS, PROTOCOL_DEFINITIONS, end_to_end_page
from tests.evaluate.report.parsed import Page
from tests.evaluate.report.samples import HOSTILE, end_to_end_sample


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(end_to_end_page(end_to_end_sample()))


def test_page_has_all_sections(page: Page) -> None:
    kinds = [kind.replace(" ", "-") for kind in KINDS]
    assert page.values_of("aria-labelledby") == ["figures", "left-out", "types", "errors", "near-misses", *kinds, "manifest"]
    text = " ".join(page.words)
    for figure in ("80.0", "75.0–85.0", "50.0", "45.0–55.0", "61.5", "60.0–65.0", "1,000", "2,000", "1,234", "(no type)"):
        assert figure in text
    assert page.words.count("Relation") == page.words.count("sibling") == 1, "only wrong concepts are related"
    assert "1,900, gold id in the KB: 1,800" in text


def test_each_protocol_and_error_kind_has_a_definition() -> None:
    assert list(PROTOCOL_DEFINITIONS) == list(END_TO_END)
    assert list(ERROR_DEFINITIONS) == list(KINDS)


def test_hostile_text_creates_no_tags(page: Page) -> None:
    hostile = Page(end_to_end_page(end_to_end_sample(HOSTILE)))
    assert hostile.tags - Counter({"text": 99}) == page.tags - Counter({"text": 99})
    assert "<script>alert('x')</script>" in "".join(hostile.words)
    assert "\x1b" not in "".join(hostile.words)


def test_no_empty_sections() -> None:
    mistakes = EndToEndMistakes(dict.fromkeys(KINDS, 0), ())
    bare = Page(end_to_end_page(replace(end_to_end_sample(), by_type=(), mistakes=mistakes, left_out={})))
    assert bare.values_of("aria-labelledby") == ["figures", "left-out", "errors", "manifest"]
    assert bare.tags["svg"] == 0


def test_ids_are_unique_and_output_is_deterministic(page: Page) -> None:
    ids = page.values_of("id")
    assert len(ids) == len(set(ids))
    assert end_to_end_page(end_to_end_sample()) == end_to_end_page(end_to_end_sample())


def test_rows_are_marked_if_documents_are_missing() -> None:
    note = "1 of 500 documents predicted"
    assert note not in end_to_end_page(end_to_end_sample())
    assert end_to_end_page(end_to_end_sample(covered=1)).count(note) == 1 + 3 + len(
        END_TO_END
    )  # the note is in the header, in three tiles, and in each table row
