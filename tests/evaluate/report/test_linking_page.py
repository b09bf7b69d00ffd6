"""Tests that the HTML page of a linking report is complete, loads nothing, has no scripts, and escapes hostile text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from onym.evaluate.content import ReportContent
from onym.evaluate.metrics import PROTOCOLS
from onym.evaluate.pages import linking_page
from tests.evaluate.report.parsed import Page
from tests.evaluate.report.samples import HOSTILE, linking_sample


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(linking_page(linking_sample()))


@pytest.fixture(scope="module")
def hostile() -> Page:
    return Page(linking_page(linking_sample(HOSTILE)))


def test_page_has_all_sections(page: Page) -> None:
    parts = ["figures", "left-out", "recall", "confidence", "slices"]
    assert page.values_of("aria-labelledby") == [*parts, "near-misses", "mistakes", "examples", "manifest"]
    assert page.tags["svg"] == 3
    assert page.tags["h1"] == 1
    text = " ".join(page.words)
    for figure in ("90.1", "88.0–92.0", "95.0", "92.0", "1,234", "92.1", "97.1", "1,200", "1,055"):
        assert figure in text
    assert "needs the whole set" in text
    assert "main" in text


def test_hostile_text_creates_no_tags(page: Page, hostile: Page) -> None:
    assert hostile.tags - Counter({"text": 99}) == page.tags - Counter({"text": 99})
    assert not {"script", "img", "link", "iframe", "object", "a", "form", "foreignobject", "image"} & hostile.tags.keys()


def test_no_attribute_runs_scripts_or_loads_urls(hostile: Page) -> None:
    for _, name, value in hostile.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "action", "formaction")
        if "href" in name:
            assert value.startswith("#")
        if name == "style":
            assert re.fullmatch(r"[^@\\]*", value)
            assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", value))
    assert "default-src 'none'" in " ".join(hostile.values_of("content"))


def test_style_sheet_loads_nothing() -> None:
    text = linking_page(linking_sample())
    assert not re.search(r"@import|@font-face|url\((?!#)", text)
    assert set(re.findall(r"https?://[^\"' <]*", text)) <= {"http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg"}


def test_hostile_text_is_shown_literally(hostile: Page) -> None:
    text = "".join(hostile.words)
    assert "<script>alert('x')</script>" in text
    assert "&amp;$" in text
    assert "\\x1b[31m\\u202e" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_ids_are_unique_and_references_resolve(page: Page) -> None:
    ids = page.values_of("id")
    assert len(ids) == len(set(ids))
    wanted = [value.removeprefix("#") for _, name, value in page.attributes if "href" in name]
    wanted += [
        target
        for value in page.values_of("clip-path") + page.values_of("style")
        for target in re.findall(r"url\(#([^)]*)\)", value)
    ]
    assert wanted
    assert set(wanted) <= set(ids)


def test_plots_use_page_colours_and_font() -> None:
    text = linking_page(linking_sample())
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert not re.search(r"#[0-9a-f]{6}\b", drawn)
    assert set(re.findall(r"var\(--(\w+)\)", text)) <= set(re.findall(r"--(\w+):", text))
    assert "DejaVu" not in drawn


def test_page_is_accessible_to_screen_readers(page: Page) -> None:
    assert ("html", "lang", "en") in page.attributes
    assert page.tags["title"] == 1
    assert page.values_of("role").count("img") == 3
    assert all(page.values_of("aria-label"))
    assert set(page.values_of("scope")) == {"col", "colgroup", "row"}


def test_light_and_dark_schemes_define_all_colours() -> None:
    light, dark = linking_page(linking_sample()).split("@media (prefers-color-scheme: dark)")
    of_dark = set(re.findall(r"--(\w+): #", dark.split("* {")[0]))
    assert of_dark == set(re.findall(r"--(\w+): #", light))


def test_output_is_deterministic() -> None:
    assert linking_page(linking_sample()) == linking_page(linking_sample())


def test_no_empty_sections() -> None:
    bare = ReportContent("exact", "bc5cdr", "test", "strict", "MeSH", ())
    page = Page(linking_page(bare))
    assert page.values_of("aria-labelledby") == ["figures", "left-out"]
    assert "Nothing was left out." in " ".join(page.words)
    assert page.tags["svg"] == 0


def test_errors_have_a_relation_only_with_a_hierarchy(page: Page) -> None:
    text = " ".join(page.words)
    for words in ("Relation", "farther, 3 steps", "farther (median 3 steps)", "a parent of a gold concept", "99.8"):
        assert words in text
    content = linking_sample()
    mistakes = tuple(replace(row, relation="") for row in content.mistakes)
    without = Page(linking_page(replace(content, near_misses=None, mistakes=mistakes)))
    assert "near-misses" not in without.values_of("aria-labelledby")
    assert "Relation" not in without.words


def test_examples_show_candidates_scores_and_rank_of_gold(page: Page) -> None:
    text = " ".join(page.words)
    shown = text[text.index("Best candidates") : text.index("Scores are the linker's own")]
    for words in (
        "right",
        "wrong",
        "0.912",
        "-0.500",
        "-2.000",
        "0.250",
        "Gout",
        "mesh:D006073",
        "(not in the KB)",
    ):
        assert words in shown
    assert page.values_of("value") == ["1", "1", "7", "1"]
    assert shown.count(" gold ") == 2
    assert [kind for kind in page.values_of("class") if kind.startswith("verdict")] == [
        "verdict right",
        "verdict wrong",
        "verdict wrong",
    ]


def test_empty_slices_are_not_plotted() -> None:
    content = linking_sample()
    page = Page(linking_page(replace(content, slices=content.slices[2:], recall_curve=(), confidence=None)))
    assert page.tags["svg"] == 0
    assert "–" in page.words


def test_long_text_is_truncated() -> None:
    text = linking_page(replace(linking_sample("x" * 5000), slices=(), linker="a", dataset="a", kb="a", split="a"))
    assert "x" * 160 + "…" in text


def test_rows_are_marked_if_mentions_are_missing() -> None:
    made = linking_page(replace(linking_sample(), coverage="1 of 960 <mentions> predicted"))
    in_header, in_first_tile = 1, 1
    assert made.count("1 of 960 &lt;mentions&gt; predicted") == in_header + in_first_tile + len(PROTOCOLS)
