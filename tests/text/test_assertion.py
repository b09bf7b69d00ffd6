"""Tests of assertion detection."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.text import assertion_marks, with_assertion
from onym.text.analysis import analyse
from onym.types import Candidate, Document, Link, LinkedDocument, Mention
from tests.support.documents import draw_linked_documents


def document(marked: str) -> Document:
    """Return the document of a text whose mentions are in angle brackets."""
    mentions: list[Mention] = []
    text = ""
    for number, piece in enumerate(re.split("[<>]", marked)):
        if number % 2:
            mentions.append(Mention(len(text), len(text) + len(piece), piece))
        text += piece
    return Document("1", text, tuple(mentions))


def marks(marked: str) -> list[str]:
    """Return the marks of each mention as one string, joined by spaces."""
    return [" ".join(each) for each in assertion_marks(document(marked))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<Fever> and <cough>.", ["", ""]),
        ("No <fever>.", ["negated"]),
        ("NO EVIDENCE OF <FEVER>.", ["negated"]),
        ("She denies any <fever>, <chills> or <cough>.", ["negated"] * 3),
        ("He doesn't have <fever>.", ["negated"]),
        ("<Pneumonia> was ruled out.", ["negated"]),
        ("<Fever> and <cough> are absent.", ["negated", "negated"]),
        ("Rule out <pneumonia>.", ["possible"]),
        ("R/O <pneumonia>", ["possible"]),
        ("<Pneumonia> cannot be excluded.", ["possible"]),
        ("We cannot exclude <pneumonia>.", ["possible"]),
        ("History of <stroke>.", ["historical"]),
        ("<Stroke> 3 years ago.", ["historical"]),
        ("<Stroke> two years ago.", ["historical"]),
        ("Status-post <stroke>.", ["historical"]),
        ("No history of <stroke>.", ["negated historical"]),
        ("Return if <fever> develops.", ["hypothetical"]),
        ("Her mother had <asthma>.", ["other-experiencer"]),
        ("Family history of <asthma>.", ["historical other-experiencer"]),
        ("No family history of <asthma>.", ["negated historical other-experiencer"]),
        ("His sister, who has <asthma>, is well.", ["other-experiencer"]),
    ],
)
def test_each_mark(text: str, expected: list[str]) -> None:
    assert marks(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "No increase in <fever>.",
        "No significant change of the <lesion>.",
        "Not only <fever>.",
        "Gram negative <sepsis>.",
        "Gram-negative <sepsis>.",
        "No difference in <fever> between groups.",
        "Without further <fever>.",
        "Infusions prior to <surgery>.",
        "A three day history of <fever>.",
        "Mother reports <fever>.",
        "In May <fever> began.",
        "iNOS is NO synthase in <asthma>.",
        "A notable <fever>.",  # only whole words match
        "The no\u0301 <fever>.",  # a combining mark belongs to its letter
    ],
)
def test_pseudo_phrases_mark_nothing(text: str) -> None:
    assert marks(text) == [""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No <fever> but <cough>.", ["negated", ""]),
        ("No <fever>; <cough>.", ["negated", ""]),
        ("No <fever>. <Cough>.", ["negated", ""]),
        ("No <fever>\n<Cough>", ["negated", ""]),
        ("1) No <fever> 2) <cough>", ["negated", ""]),
        ("COMPLICATIONS: None. POSTOPERATIVE DIAGNOSIS: <Gastritis>", [""]),
        ("Complications: none  Final Diagnosis: <Gastritis>", [""]),
        ("<Cough>: present  <Fever>: absent", ["", "negated"]),
        ("<Cough>, however <fever> was ruled out.", ["", "negated"]),
        ("History of <asthma> who presents with <fever>.", ["historical", ""]),
        ("His father had <asthma>, the patient has <fever>.", ["other-experiencer", ""]),
        ("If <fever> returns because of <cough>.", ["hypothetical", ""]),
        ("Possible <fever>, but <cough>.", ["possible", ""]),
        ("No <fever> but no <cough>.", ["negated", "negated"]),
        ("They deny <fever> and have <cough>, <asthma>.", ["negated", "", ""]),
        ("He denies <fever> and presents with <cough>.", ["negated", ""]),
        ("Possible <fever> and complains of <cough>.", ["possible", ""]),
        ("Without <fever>, she developed <cough>.", ["negated", ""]),
        ("No <fever> and the patient reports <cough>.", ["negated", ""]),
        ("Denies <fever> and admits to <cough>.", ["negated", ""]),
        ("No <fever>, has <asthma>.", ["negated", ""]),
        ("No <fever>, is known to have <asthma>.", ["negated", ""]),
        ("No <fever>, started on <aspirin>.", ["negated", ""]),
    ],
)
def test_a_scope_ends(text: str, expected: list[str]) -> None:
    assert marks(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No patient had <fever>.", ["negated"]),
        ("No patients presented with <fever>.", ["negated"]),
        ("<Fever>, <cough>, has been ruled out.", ["negated", "negated"]),
        ("His mother had <asthma>, had <fever>.", ["other-experiencer", "other-experiencer"]),
        ("No <fever>, <cough> and <asthma>.", ["negated"] * 3),
        ("No <fever> and no <cough>.", ["negated"] * 2),
    ],
)
def test_a_scope_goes_on(text: str, expected: list[str]) -> None:
    assert marks(text) == expected


@pytest.mark.parametrize("text", ["<No fever>.", "<Absence of fever>, <cough>.", "<Neg for x>: <cough>."])
def test_ignores_phrases_inside_a_mention(text: str) -> None:
    assert not any(marks(text))


def test_phrase_that_is_itself_a_mention_has_effect() -> None:
    assert marks("<Family history> of <asthma>. Past <medical history> of <stroke>.") == [
        "",
        "historical other-experiencer",
        "",
        "historical",
    ]


def test_nested_and_unsorted_mentions() -> None:
    text = "No acute heart attack, but fever."
    found = [Mention(start, end, text[start:end]) for start, end in ((27, 32), (9, 21), (3, 21), (9, 14))]
    assert assertion_marks(Document("1", text, tuple(found))) == [(), ("negated",), ("negated",), ("negated",)]


PIECES = st.sampled_from(
    [
        *(
            "no ",
            "not only ",
            "history of ",
            "but ",
            "mother ",
            "ruled out ",
            "was ",
            "if ",
            "may ",
            "3 ",
            "A: ",
            ". ",
            "; ",
            "\n",
        ),
        *("<fever> ", "<cough>, ", "\u0130\u00df ", "\U0001f9ec", "e\u0301 ", "\u200b", "<x\u1e9e\u0130> ", "1) "),
    ]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join)


@given(TEXTS, st.randoms())
def test_marks_do_not_depend_on_mention_order(text: str, random: object) -> None:
    doc = document(text)
    expected = dict(zip(doc.mentions, assertion_marks(doc), strict=True))
    order = list(doc.mentions)
    random.shuffle(order)  # type: ignore[attr-defined]
    assert assertion_marks(replace(doc, mentions=tuple(order))) == [expected[mention] for mention in order]


@given(TEXTS, TEXTS)
def test_other_sentences_have_no_effect(text: str, other: str) -> None:
    doc = document(f"{text}.\n\n\n{other}")
    first = document(f"{text}.")
    assert assertion_marks(doc)[: len(first.mentions)] == assertion_marks(first)


@given(TEXTS)
def test_ignores_case(text: str) -> None:
    # only one sentence, because sentence splitting depends on case
    text = text.replace("A: ", "").replace(". ", "").replace("\n", " ")
    assert marks(text) == marks(text.replace("no ", "NO ").replace("but ", "BUT ").replace("history of", "History Of"))


@given(draw_linked_documents())
def test_with_assertion_changes_nothing_else(linked: LinkedDocument) -> None:
    marked = with_assertion(linked)
    assert marked.document == linked.document
    assert [replace(link, assertion=None) for link in marked.links] == [replace(link, assertion=None) for link in linked.links]
    assert [link.assertion for link in marked.links] == assertion_marks(linked.document)[: len(linked.links)]
    assert marked.problems == linked.problems


def test_an_analysis_is_used_and_kept() -> None:
    doc = analyse(document("No <fever>."))
    (link,) = [Link(mention, (Candidate("mesh:D005334", "fever", 1.0),)) for mention in doc.mentions]
    linked = with_assertion(LinkedDocument(doc, (link,)))
    assert linked.document is doc
    assert linked.links[0].assertion == ("negated",)
    assert "sentences" in vars(doc.analysis)


def test_a_mention_of_white_space_has_no_sentence() -> None:
    assert assertion_marks(Document("1", "  ", (Mention(0, 1, " "),))) == [()]
    assert assertion_marks(Document("1", "", ())) == []


def test_run_time_is_linear_in_one_long_sentence() -> None:
    """Quadratic run time would take minutes here."""
    doc = document("no <fever> was ruled out but " * 20_000)
    assert set(assertion_marks(doc)) == {("negated",)}
