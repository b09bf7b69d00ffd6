"""Tests of word and sentence splitting."""

from __future__ import annotations

import time
import tracemalloc
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.formats import pubtator
from onym.store.files.source import Source
from onym.text import analysis, boundaries
from onym.text.boundaries import may_cross_sentences, sentences, words
from onym.types import Document, Offsets

LONGER = ("Fig. ", "e.g. ", "et al. ", "E. coli", " The ", "METHODS: ", "1. ", ". (a) ", "\r\n", "\u0915\u093f")
ODD = "\x85\u2028\u3000\u0301\u00ad\u200b\ufeff\u03b1\u2019\U0001f9ec\ufe0f\u3002\u2026"
PIECES = st.sampled_from([*"aB1. ,;()[]!?-'\"\n\t\r%:/+_", *ODD, *LONGER])
TEXT = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.lists(PIECES, max_size=40).map("".join))


def pieces(text: str, split: Callable[[str], list[Offsets]]) -> list[str]:
    return [text[start:end] for start, end in split(text)]


def require_apart(text: str, spans: list[Offsets]) -> None:
    """Assert that the spans are sorted, disjoint, in range and not empty."""
    offset = 0
    for start, end in spans:
        assert offset <= start < end <= len(text)
        offset = end


def is_of_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"


@given(TEXT)
def test_words_are_runs_of_letters_digits_and_marks(text: str) -> None:
    spans = words(text)
    require_apart(text, spans)
    covered = {offset for start, end in spans for offset in range(start, end)}
    assert all(offset in covered for offset, char in enumerate(text) if char.isalnum())
    assert all(is_of_word(text[offset]) or text[offset] in "\u00ad\u200c\u200d\u2060\ufeff" for offset in covered)
    assert all(text[start].isalnum() and is_of_word(text[end - 1]) for start, end in spans)
    assert all(end == len(text) or not is_of_word(text[end]) for _, end in spans)


@given(TEXT)
def test_may_cross_sentences_has_no_false_negatives(text: str) -> None:
    edges = words(text)
    for begin, _ in sentences(text):
        before = [start for start, _ in edges if start < begin]
        after = [end for _, end in edges if end > begin]
        assert all(may_cross_sentences(text[start:end]) for start in before for end in after)


@pytest.mark.parametrize("surface", ["fever", "heart attack", "IL-2 (p53)", "β-actin", "a\u00adb"])
def test_names_do_not_cross_sentences(surface: str) -> None:
    assert not may_cross_sentences(surface)


@given(TEXT)
def test_sentences_cover_all_but_white_space(text: str) -> None:
    spans = sentences(text)
    require_apart(text, spans)
    between = [
        text[end:start] for end, start in zip([0, *(e for _, e in spans)], [*(s for s, _ in spans), len(text)], strict=True)
    ]
    assert "".join(between).strip() == ""
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@given(TEXT)
def test_no_word_is_in_two_sentences(text: str) -> None:
    starts = {start for start, _ in sentences(text)}
    assert not [word for word in words(text) if any(word[0] < start < word[1] for start in starts)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IL-2", ["IL", "2"]),
        ("5-HT2A p53", ["5", "HT2A", "p53"]),
        ("Na+/K+-ATPase", ["Na", "K", "ATPase"]),
        ("Alzheimer's 5\u2032-UTR", ["Alzheimer", "s", "5", "UTR"]),
        ("2,3,7,8-tetrachlorodibenzo-p-dioxin", ["2", "3", "7", "8", "tetrachlorodibenzo", "p", "dioxin"]),
        ("TNF-\u03b1 0.5 a_b", ["TNF", "\u03b1", "0", "5", "a", "b"]),
        ("cafe\u0301 \u0915\u093f\u0924", ["cafe\u0301", "\u0915\u093f\u0924"]),
        ("diabe\u00adtes x\u200by \u2764\ufe0f", ["diabe\u00adtes", "x", "y"]),
        ("Ca\u00b2 \u7cd6\u5c3f\u75c5", ["Ca\u00b2", "\u7cd6\u5c3f\u75c5"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert pieces(text, words) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It grew in E. coli, S. aureus and others, e.g. yeast (Fig. 2 and refs. 3, 4).",
        "Smith et al. (2004) and J. A. Brown saw approx. 5 of 7 vs. 3 of 8, i.e. fewer.",
        "The dose was 0.5 mg/kg i.v. in rats.",
        "Dr. Brown of St. Louis gave No. 5.",
        "A remark (it was so. It was not. P < 0.05) goes on.",
        "It was 2. 3% and 0. 5 in all.",
        "Uptake was 49.8 ml . kg-1 . min-1 in both.",
        "Of this, what? and why! nobody knows.",
        "Candida sp. 3 and B. subtilis var. niger.",
        "The U.S. Food and Drug Administration.",
        "1. The first item",
        "Studies of enzymes, IV. part",
        "The text is wrapped at about sixty characters, and so the\nAlzheimer patients of its second line are of the same one.",
    ],
)
def test_one_sentence(text: str) -> None:
    assert pieces(text, sentences) == [text]


@pytest.mark.parametrize(
    "expected",
    [
        ["It was hepatitis B.", "Rats had none."],
        ["It was vitamin E.", "An effect was seen in 24 h.", "Mice had none."],
        ["The dose was 5 mg i.p.", "We saw no effect (30 mg/kg, i.p.).", "METH did."],
        ["As shown by Smith et al.", "The rest is new."],
        ["It fell.", "p53 rose.", "c-Myc and mRNA did not.", "\u03b1-Synuclein did.", "(+)-Propranolol had none."],
        ["Why?", "Nobody knows!", "It is so...", "Or not."],
        ["(It is so.)", '"It is not."', "[A title in brackets]."],
        ["The first.", "1. We saw it.", "2. They did not."],
        ["We conclude: 1. It is.", "2. It is not."],
        ["A study of enzymes.", "IV. The liver."],
        ["It was seen in 12.", "7 were cured in 1995.", "12 were not."],
        ["No full stop here", "METHODS: We looked.", "RESULTS AND DISCUSSION: Nothing."],
        ["It grew.", "EXPERIMENTAL DESIGN: None."],
        ["(a) Left.", "(b) Right.", "(c,d) Both."],
    ],
)
def test_several_sentences(expected: list[str]) -> None:
    assert pieces(" ".join(expected), sentences) == expected


@pytest.mark.parametrize("between", ["\n", "\r\n", "\n\n", " \n \n ", "\u2029", "\f"])
def test_short_line_ends_a_sentence(between: str) -> None:
    parts = ["A title without a full stop", "the abstract goes on for more than that " * 4 + "and ends", "fever"]
    assert pieces(between.join(parts), sentences) == parts


def test_an_empty_line_ends_a_sentence_of_a_wrapped_text() -> None:
    line = "this line is as long as any other line of the whole text"
    assert pieces(f"{line}\n\n{line}\n{line}", sentences) == [line, f"{line}\n{line}"]


def test_full_width_marks_need_no_space() -> None:
    assert pieces("\u6211\u4eec\u3002\u4ed6\u4eec\uff01\uff1f\u5979", sentences) == [
        "\u6211\u4eec\u3002",
        "\u4ed6\u4eec\uff01\uff1f",
        "\u5979",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000\t"])
def test_no_sentence(text: str) -> None:
    assert sentences(text) == []


MARKS = [".", "(", ")", "()", "[(", "(.) ", ". ", ' "', '. ("', ".x", "? a ", ": 1. ", "\n", "a\n", " ", "\u00ad"]


@pytest.mark.parametrize("piece", [*MARKS, "a. ", "A. ", "1. ", "e.g. ", "METHODS ", " AIM", "a\u0301", "a\u00ad"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    begin = time.process_time()
    sentences(text)
    words(text)
    assert time.process_time() - begin < 4  # takes about a second; a quadratic search would take minutes


@pytest.mark.real_data
def test_boundaries_agree_with_gold_mentions(real_data: Path) -> None:
    """No sentence ends inside a mention, and nearly all mentions begin and end with a word."""
    docs = [
        item
        for path in (*sorted((real_data / "ncbi_disease").glob("NCBI*.txt")), *sorted((real_data / "bc5cdr").glob("CDR_*.gz")))
        for item in pubtator.read(Source.open(path))
        if isinstance(item, Document)
    ]
    found = mentions = at_words = 0
    for doc in docs:
        spans, cut = words(doc.text), {start for start, _ in sentences(doc.text)}
        starts, ends = {start for start, _ in spans}, {end for _, end in spans}
        found += len(cut)
        for mention in doc.mentions:
            assert cut.isdisjoint(range(mention.start + 1, mention.end)), doc.id
            mentions += 1
            at_words += mention.start in starts and mention.end in ends
    assert found > 9 * len(docs) > 20_000
    assert at_words > 0.997 * mentions > 30_000


@pytest.mark.parametrize("compile_pattern", [boundaries._any_word, analysis._clusters])
def test_patterns_of_all_characters_take_little_memory(compile_pattern: Any) -> None:
    tracemalloc.start()
    compile_pattern.__wrapped__()  # without the cache
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6
