"""Tests of converting linked documents to rows, dicts, dataframes and HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline
from onym.types import COLUMNS, AssertionMark, Candidate, Document, Link, LinkedDocument, Mention, Problem, style_id

FEVER = Candidate("mesh:D005334", "pyrexia", 0.9, "Fever", "Disease")


def make_linked(text: str, *links: Link, **more: Any) -> LinkedDocument:
    return LinkedDocument(Document("d1", text, tuple(link.mention for link in links)), links, **more)


def mention(text: str, start: int, end: int, kind: str = "") -> Mention:
    return Mention(start, end, text[start:end], type=kind)


class Marks(HTMLParser):
    """Collects the text of an HTML page, and its tags with their attributes; `words` are the assertion marks in the text."""

    def __init__(self) -> None:
        super().__init__()
        self.text = self.words = ""
        self.tags: list[str] = []
        self.titles: list[str | None] = []
        self._is_mark = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._is_mark = tag == "small"
        self.titles += [value for name, value in attrs if name == "title"]

    def handle_data(self, data: str) -> None:
        if self._is_mark:
            self.words += data
        else:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        self._is_mark = False


def read(page: str) -> Marks:
    marks = Marks()
    marks.feed(page)
    marks.close()
    return marks


def test_a_negated_mention_looks_negated_in_html() -> None:
    text = "fever, no fever, past fever"
    marks_at: dict[int, tuple[AssertionMark, ...]] = {0: (), 10: ("negated",), 22: ("historical", "possible")}
    links = (Link(mention(text, start, start + 5), (FEVER,), assertion=marks) for start, marks in marks_at.items())
    page = make_linked(text, *links).to_html()
    assert page.count("line-through") == 1
    assert '>fever</mark><small style="color:#991b1b;user-select:none"> negated</small>, past' in page
    marks = read(page)
    assert (marks.text, marks.words) == (text, " negated historical, possible")


def test_the_word_follows_the_end_of_a_mention_with_another_inside() -> None:
    text = "no type 2 diabetes"
    links = (Link(mention(text, start, 18), (FEVER,), assertion=("negated",)) for start in (3, 10))
    page = make_linked(text, *links).to_html()
    assert page.endswith('>diabetes</mark><small style="color:#991b1b;user-select:none"> negated</small></div>')
    assert page.count("line-through") == 2


def test_a_row_for_each_mention() -> None:
    text = "pyrexia, xyz"
    first = Link(mention(text, 0, 7), (FEVER,), confidence=0.8, stage="exact", assertion=("negated", "historical"))
    rows = make_linked(text, first, Link(mention(text, 9, 12, "Gene"))).rows()
    assert [list(row) for row in rows] == [list(COLUMNS)] * 2
    values = ("d1", 0, 7, "pyrexia", "Disease", "MESH:D005334", "Fever", "pyrexia", 0.9, 0.8, 0, "exact", None)
    assert tuple(rows[0].values()) == (*values, "negated,historical")
    assert (rows[1]["type"], rows[1]["concept_id"], rows[1]["nil_reason"]) == ("Gene", None, "no-candidate")


def test_answer_below_the_threshold_is_only_among_the_candidates() -> None:
    text = "pyrexia"
    found = make_linked(text, Link(mention(text, 0, 7), (FEVER,), nil_reason="below-threshold"))
    assert (found.rows()[0]["concept_id"], found.rows()[0]["score"]) == (None, None)
    (link,) = found.to_dict()["links"]
    assert link["candidates"] == [
        {"concept_id": "MESH:D005334", "preferred_name": "Fever", "matched_name": "pyrexia", "score": 0.9}
    ]


def test_dataframes_have_the_same_columns_also_without_mentions() -> None:
    pd = pytest.importorskip("pandas")
    text = "pyrexia"
    for each in (make_linked("nothing"), make_linked(text, Link(mention(text, 0, 7), (FEVER,)))):
        assert each.to_polars().columns == list(COLUMNS) == list(each.to_pandas().columns)
        assert each.to_polars().height == len(each.links) == len(each.to_pandas())
    assert isinstance(each.to_pandas(), pd.DataFrame)
    assert make_linked("nothing").to_polars().schema == each.to_polars().schema


def test_repr_has_ids_and_no_text() -> None:
    text = "pyrexia, secret"
    shown = repr(make_linked(text, Link(mention(text, 0, 7), (FEVER,)), Link(mention(text, 9, 15))))
    assert shown == "<LinkedDocument d1: 2 links: 0-7 MESH:D005334, 9-15 NIL>"
    assert (
        repr(make_linked("secret", problems=(Problem("d1", "limit-record", "too long"),)))
        == "<LinkedDocument d1: limit-record>"
    )
    many = make_linked(text, *[Link(mention(text, 0, 7), (FEVER,))] * 6)
    assert repr(many).endswith(", ...>")


def test_overlapping_marks_have_both_titles() -> None:
    text = "high pyrexia <b>&"
    outer, inner = mention(text, 0, 12, "Phenotype"), mention(text, 5, 12)
    page = make_linked(text, Link(outer, (FEVER,), confidence=0.75), Link(inner, (FEVER,)))._repr_html_()
    marks = read(page)
    assert marks.text == text
    assert set(marks.tags) == {"div", "mark"}
    first = "MESH:D005334 Fever, Phenotype, confidence 0.75\nmatched name: pyrexia, score 0.90"
    assert marks.titles == [first, f"{first}\n\nMESH:D005334 Fever, Disease, score 0.90\nmatched name: pyrexia, score 0.90"]


def test_title_describes_the_link() -> None:
    pyrexia, ague = mention("pyrexia", 0, 7), Candidate("mesh:D008288", "ague", 0.9, "Malaria")
    said = Link(pyrexia, (FEVER, ague), stage="exact", tied=3, assertion=("negated",)).title.splitlines()
    assert said == [
        "MESH:D005334 Fever, Disease, score 0.90, by exact, negated",
        "matched name: pyrexia, score 0.90",
        "concepts with the same score: 3 more",
        "runner-up: MESH:D008288 Malaria, score 0.90",
    ]
    assert Link(pyrexia).title == "not linked: no-candidate"
    below = Link(pyrexia, (FEVER,), confidence=0.2, nil_reason="below-precision").title.splitlines()
    assert below[0] == "not linked: below-precision; best candidate: MESH:D005334 Fever, Disease, confidence 0.20"


def test_annotations_have_no_names_and_no_runner_up() -> None:
    both = (Candidate("mesh:D1", "", 1.0, "One"), Candidate("mesh:D2", "", 1.0))
    assert Link(mention("pyrexia", 0, 7), both, tied=0).title == "MESH:D1 One, score 1.00"


def test_titles_can_be_overridden() -> None:
    text = "pyrexia pyrexia"
    found = make_linked(text, Link(mention(text, 8, 15), (FEVER,)), Link(mention(text, 0, 7), (FEVER,)))
    assert read(found.to_html(["second <b>", "first"])).titles == ["first", "second <b>"]
    with pytest.raises(ValueError, match="shorter"):
        found.to_html([])


@given(st.text(max_size=40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 40)), max_size=6))
def test_html_contains_the_document_text(text: str, spans: list[tuple[int, int]]) -> None:
    text = text.replace("\r", "")  # an HTML parser would convert carriage returns to line feeds
    mentions = [mention(text, start, min(end, len(text))) for start, end in spans if start < min(end, len(text))]
    found = make_linked(text, *(Link(each, (Candidate("a:<i>", '"', 1.0, "<script>", "'"),)) for each in mentions))
    marks = read(found.to_html())
    assert marks.text == text
    assert set(marks.tags) <= {"div", "mark"}


def test_candidates_have_preferred_name_and_type(tiny_kb: Any) -> None:
    doc = Document("1", "pyrexia", (Mention(0, 7, "pyrexia"),))
    found = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))).link(doc)
    assert (found.links[0].candidates[0].preferred_name, found.links[0].candidates[0].type) == ("Fever", "Disease")


def test_id_styles() -> None:
    assert style_id("mesh:") == "MESH:"
    assert style_id("hp:0000118", "curie") == "hp:0000118"
