"""Tests of model input and output templates, as text and as tokens."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.methods.generative.template import GENBIOEL, GENRE, TEMPLATES, Template, template_named
from onym.models.tokens import Tokenizer
from onym.text.window import Window, word_window
from tests.text.small_bpe import tokenizer_json

pytest.importorskip("tokenizers")
WHOLE = 100_000
PIECES = ["a ", "Fever ", "is", "START", " ", "  ", "\n", "\t", ",", "'s ", "12", "é", "&amp;", "\u00a0", "</s>", "İ"]
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text(max_size=30),
)
MENTIONS = st.one_of(st.sampled_from(["Fever", "heart attack", "12%", "MI"]), st.text(min_size=1, max_size=12))


@pytest.fixture(scope="module")
def tokens() -> Tokenizer:
    return Tokenizer(tokenizer_json())


def genbioel(left: str, mention: str, right: str) -> str:
    """Return the output of GenBioEL's `create_input` for whole documents, with the leading space that its reader adds."""
    text = left.strip(" ").lower() + " START " + mention.lower() + " END " + right.strip(" ").lower()
    return " " + html.unescape(text.strip(" "))


@pytest.mark.parametrize(
    ("left", "mention", "right", "wanted"),
    [
        ("He had a", "Heart Attack", ".", " he had a START heart attack END ."),
        ("", "MI", "was seen", " START mi END was seen"),
        ("Seen: ", "MI", "", " seen: START mi END"),
        ("", "MI", "", " START mi END"),
        ("p &lt; 0.05 in", "Alpha", ", and &amp; so", " p < 0.05 in START alpha END , and & so"),
        ("START of", "END stage", "END", " start of START end stage END end"),
    ],
)
def test_genbioels_source(left: str, mention: str, right: str, wanted: str) -> None:
    assert GENBIOEL.source_text(Window(left, mention, right)) == wanted == genbioel(left, mention, right)


@given(TEXTS, MENTIONS.map(str.strip).filter(bool), TEXTS)
def test_genbioels_source_of_any_text(left: str, mention: str, right: str) -> None:
    if html.unescape(left + mention + right) == left + mention + right:
        assert GENBIOEL.source_text(Window(left, mention, right)) == genbioel(left, mention, right)


def test_genbioels_prompt_keeps_braces_and_entities() -> None:
    assert GENBIOEL.prompt_text("{0} {") == " {0} { is"
    assert GENBIOEL.prompt_text("p&lt;3") == " p&lt;3 is"  # only the source text is unescaped, not the mention in the prompt


def test_genre_has_no_prompt(tokens: Tokenizer) -> None:
    assert GENRE.source_text(Window("He had a", "Fit", ".")) == " he had a [START_ENT] fit [END_ENT] ."
    assert GENRE.prompt_text("Fit") == ""
    assert GENRE.prompt_ids("Fit", tokens) == []
    assert GENRE.name_text("Fit") == " fit"


@pytest.mark.parametrize("mention", ["fever", "Ischemia", "isoniazid", "what is", "12 %"])
def test_the_prompt_ends_with_the_token_of_is(tokens: Tokenizer, mention: str) -> None:
    (last,) = tokens.ids(" is")
    found = GENBIOEL.prompt_ids(mention, tokens)
    assert found[-1] == last
    assert found[:-1] == tokens.ids(f" {mention.lower()}")


def test_markers_are_ordinary_tokens(tokens: Tokenizer) -> None:
    ids = GENBIOEL.source_ids("It was fever.", 7, 12, tokens, budget=WHOLE)
    (start,), (end,) = tokens.ids(" START"), tokens.ids(" END")
    assert ids == [0, *tokens.ids(" it was"), start, *tokens.ids(" fever"), end, *tokens.ids(" ."), 2]


@given(TEXTS, MENTIONS, TEXTS)
def test_tokenising_pieces_equals_tokenising_the_whole(left: str, mention: str, right: str) -> None:
    tokens = Tokenizer(tokenizer_json())
    text = left + mention + right
    start, end = len(left), len(left) + len(mention)
    for template in TEMPLATES.values():
        whole = tokens.ids(template.source_text(word_window(text, start, end)))
        assert template.source_ids(text, start, end, tokens, budget=WHOLE) == [0, *whole, 2]


@given(TEXTS, MENTIONS, TEXTS, st.integers(0, 40))
def test_the_mention_and_its_markers_are_never_cut(left: str, mention: str, right: str, budget: int) -> None:
    tokens = Tokenizer(tokenizer_json())
    text = left + mention + right
    whole = GENBIOEL.source_ids(text, len(left), len(left) + len(mention), tokens, budget=WHOLE)
    found = GENBIOEL.source_ids(text, len(left), len(left) + len(mention), tokens, budget=budget)
    middle = tokens.ids(f" START {html.unescape(mention).lower()} END")
    assert (found[0], found[-1]) == (0, 2)
    assert len(found) <= max(budget, len(middle) + 2)
    assert len(found) == min(len(whole), max(budget, len(middle) + 2))  # all context that fits is kept
    assert holds(found, middle)
    assert holds(whole, found[1:-1])


def holds(whole: list[int], part: list[int]) -> bool:
    return any(whole[offset : offset + len(part)] == part for offset in range(len(whole) - len(part) + 1))


def test_mention_longer_than_the_budget_has_no_context(tokens: Tokenizer) -> None:
    text = "before " + "Fever " * 50 + "after"
    found = GENBIOEL.source_ids(text, 7, 7 + 299, tokens, budget=20)
    assert found == [0, *tokens.ids(" START " + ("fever " * 50).strip() + " END"), 2]
    assert len(found) > 20


def test_both_sides_share_the_budget(tokens: Tokenizer) -> None:
    """Each side of the mention gets half of the budget; what one side does not use goes to the other side."""
    fever, room = [*tokens.ids(" START fever END")], 20
    budget = len(fever) + 2 + room
    for before, after, left, right in ((100, 100, 10, 10), (4, 100, 4, 16), (100, 4, 16, 4), (100, 0, 20, 0), (0, 100, 0, 20)):
        text = "man " * before + "fever" + " man" * after
        found = GENBIOEL.source_ids(text, 4 * before, 4 * before + 5, tokens, budget=budget)
        man = tokens.ids(" man")
        assert len(man) == 1
        assert found == [0, *man * left, *fever, *man * right, 2]


def test_long_documents_are_cut_before_they_are_tokenised() -> None:
    """In a document of a million letters, only the context that fits the window is tokenised."""

    class Counting(Tokenizer):
        max_length = 0

        def ids(self, text: str) -> list[int]:
            self.max_length = max(self.max_length, len(text))
            return super().ids(text)

    tokens = Counting(tokenizer_json())
    side = "wordwithoutablank" * 60_000
    text = f"{side} fever {side}"
    found = GENBIOEL.source_ids(text, len(side) + 1, len(side) + 6, tokens, budget=64)
    assert len(found) == 64
    assert tokens.max_length < 10_000


def test_words_are_counted_as_genbioel_does(tokens: Tokenizer) -> None:
    text = "man " * 500 + "fever" + " man" * 500
    found = GENBIOEL.source_ids(text, 2000, 2005, tokens, budget=WHOLE)
    assert len(found) == 384 + len(tokens.ids(" START fever END")) + 2
    assert GENBIOEL.source_ids(text, 2000, 2005, tokens, budget=WHOLE, words=10) == [
        0,
        *tokens.ids(" man" * 5 + " START fever END" + " man" * 5),
        2,
    ]


def test_templates_by_name() -> None:
    assert [template_named(name) for name in ("genbioel", "genre")] == [GENBIOEL, GENRE]
    assert isinstance(GENBIOEL, Template)
    with pytest.raises(ConfigError) as caught:
        template_named("fancy")
    assert caught.value.code == "template-unknown"
    assert "genbioel, genre" in str(caught.value)


@pytest.mark.real_models
@pytest.mark.usefixtures("real_models")
def test_bart_tokens() -> None:
    """With BART's tokenizer, the prompt ends with token 16, and each marker is one token."""
    from benchmarks.models import model_folder

    bart = Tokenizer.open(model_folder("bart-tokenizer"))
    assert (bart.before, bart.after, bart.eos, bart.vocabulary) == ((0,), (2,), 2, 50_265)
    assert bart.ids(" is") == [16]
    assert GENBIOEL.prompt_ids("Ischemia", bart) == [16, *bart.ids(" ischemia")[1:], 16]
    assert GENBIOEL.prompt_ids("heart attack", bart) == [1144, 908, 16]
    assert len(bart.ids(" START")) == len(bart.ids(" END")) == 1
    text = "Patients with Heart attack, and p &lt; 0.05."
    found = GENBIOEL.source_ids(text, 14, 26, bart, budget=1024)
    assert found == [0, *bart.ids(" patients with START heart attack END , and p < 0.05."), 2]
