"""Tests of the training samples (statements and clauses) that are generated from a knowledge base."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.methods.generative.template import GENBIOEL, GENRE, InputLayout, Template
from onym.models.tokens import Tokenizer
from onym.train.generative.statements import (
    DEFINED,
    SINGLE,
    SYNONYMS,
    KnowledgeSamples,
    Statement,
    Statements,
    clause_of,
    closest,
    templates_for,
)
from onym.train.samples.base import Sample, Samples
from tests.text.small_bpe import tokenizer_json
from tests.train.samples.made_kb import make_kb

TABLE_10 = {
    DEFINED: ["M is defined as C", "M is described as C", "C are the definitions of M", "C describe M", "C define M"],
    SYNONYMS: [
        "C are the synonyms of M",
        "C indicate the same concept as M",
        "M has synonyms such as C",
        "M refers to the same concepts as C",
    ],
    SINGLE: ["C is M", "C is the same as M", "M is C", "M is the same as C"],
}
MANY = range(3000)
INFARCTION, FEVER, HYPERTENSION, ISONIAZID, ASTHMA, TWICE, ALERT = range(7)
SOME = range(400)
NAMES = st.lists(st.text("abc ", max_size=12), min_size=1, max_size=6)


@pytest.mark.parametrize("templates", TABLE_10)
def test_templates_match_the_paper(templates: tuple[str, ...]) -> None:
    assert [clause_of(template, "M", "C").text for template in templates] == TABLE_10[templates]


@pytest.mark.parametrize("template", [*DEFINED, *SYNONYMS, *SINGLE])
@pytest.mark.parametrize("context", ["a {mention} of {context} {} {0}", "heart {context}, heart {context}", ""])
def test_clause_has_offsets_of_the_mention(template: str, context: str) -> None:
    clause = clause_of(template, "heart {context}", context)
    assert clause.text[clause.start : clause.end] == "heart {context}"
    if template.startswith("{mention}"):
        assert clause.start == 0
        assert clause.text.endswith(f" {context}")
    else:
        assert clause.end == len(clause.text)
        assert clause.text.startswith(f"{context} ")


def test_templates_depend_on_definitions_and_names() -> None:
    assert templates_for(1, 1) == templates_for(3, 9) == DEFINED
    assert templates_for(0, 2) == templates_for(0, 9) == SYNONYMS
    assert templates_for(0, 1) == SINGLE


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return make_kb(tmp_path_factory.mktemp("made"))


def context_of(statement: Statement) -> tuple[str, str]:
    """Return the template and context of a statement; if several templates match, use the longest one."""
    clause = statement.clause
    around = clause.text[: clause.start], clause.text[clause.end :]
    found = []
    for template in (*DEFINED, *SYNONYMS, *SINGLE):
        left, right = template.replace("{context}", "").split("{mention}")
        if left and around[0].endswith(left) and not around[1]:
            found.append((len(left), template, around[0].removesuffix(left)))
        elif right and around[1].startswith(right) and not around[0]:
            found.append((len(right), template, around[1].removeprefix(right)))
    _, template, context = max(found)
    return template, context


def by_concept(statements: list[Statement]) -> dict[int, list[Statement]]:
    found = defaultdict(list)
    for statement in statements:
        found[statement.concept].append(statement)
    return found


@pytest.mark.parametrize("mention", ["random", "similar"])
def test_epoch_has_each_name_as_target_once(kb: KnowledgeBase, mention: str) -> None:
    statements = Statements(kb, 5, mention=mention)  # type: ignore[arg-type]
    terms = sorted((c, int(name)) for c in range(len(kb)) for name in kb.names_of(c))
    epochs = [statements.at(range(start, start + statements.epoch)) for start in (0, statements.epoch)]
    assert [sorted((each.concept, each.target) for each in epoch) for epoch in epochs] == [terms, terms]
    one, other = ([(each.concept, each.target) for each in epoch] for epoch in epochs)
    assert one != other


def test_statements_are_determined_by_seed(kb: KnowledgeBase) -> None:
    assert Statements(kb, 5).at(MANY) == Statements(kb, 5).at(MANY)
    assert Statements(kb, 5).at(MANY) != Statements(kb, 6).at(MANY)


@given(indices=st.lists(st.integers(0, 5000), max_size=9))
def test_statement_does_not_depend_on_its_batch(kb: KnowledgeBase, indices: list[int]) -> None:
    statements = Statements(kb, 5)
    assert statements.at(indices) == [statements.at([index])[0] for index in indices]


@pytest.mark.parametrize("mention", ["random", "similar"])
def test_mention_differs_from_target_if_possible(kb: KnowledgeBase, mention: str) -> None:
    for each in Statements(kb, 5, mention=mention).at(MANY):  # type: ignore[arg-type]
        names = kb.names_of(each.concept).tolist()
        assert {each.mention, each.target} <= set(names)
        assert (each.mention == each.target) == (len(names) == 1)
        assert each.clause.text[each.clause.start : each.clause.end] == kb.names[each.mention]


def test_chooses_templates_uniformly(kb: KnowledgeBase) -> None:
    found = by_concept(Statements(kb, 5).at(MANY))
    for concept, templates in ((INFARCTION, DEFINED), (ASTHMA, DEFINED), (FEVER, SYNONYMS), (HYPERTENSION, SYNONYMS)):
        counts = Counter(context_of(each)[0] for each in found[concept])
        assert set(counts) == set(templates)
        assert min(counts.values()) > max(counts.values()) / 2
    assert {each.clause.text for each in found[ISONIAZID]} == {"isoniazid is isoniazid", "isoniazid is the same as isoniazid"}
    assert len({(each.clause.text, each.clause.start) for each in found[ISONIAZID]}) == 4


def test_context_has_definitions(kb: KnowledgeBase) -> None:
    found = by_concept(Statements(kb, 5).at(MANY))
    [definition] = kb.concept(INFARCTION).definitions
    assert {context_of(each)[1] for each in found[INFARCTION]} == {definition}
    three = kb.concept(TWICE).definitions
    pairs = {f"{one} {other}" for one in three for other in three if one != other}
    assert {context_of(each)[1] for each in found[TWICE]} == pairs


def test_context_has_other_names(kb: KnowledgeBase) -> None:
    found = by_concept(Statements(kb, 5).at(MANY))
    seen = set()
    for each in found[FEVER]:
        context = context_of(each)[1].split(", ")
        others = {kb.names[name] for name in kb.names_of(FEVER).tolist() if name not in (each.mention, each.target)}
        assert len(context) == 3
        assert set(context) == others
        seen.add(tuple(context))
    assert len(seen) == 60  # all ordered choices of three of the five: 5 * 4 * 3
    for each in found[HYPERTENSION]:
        assert context_of(each)[1] == kb.names[each.target]


def test_similar_mention_is_the_closest_name(kb: KnowledgeBase) -> None:
    for each in Statements(kb, 5, mention="similar").at(MANY):
        others = [kb.names[name] for name in kb.names_of(each.concept).tolist() if name != each.target]
        if others:
            assert kb.names[each.mention] == others[closest(kb.names[each.target], others)]


def test_random_mentions_cover_all_other_names(kb: KnowledgeBase) -> None:
    found = Counter((each.target, each.mention) for each in Statements(kb, 5).at(MANY) if each.concept == INFARCTION)
    assert len(found) == 4 * 3
    assert min(found.values()) > max(found.values()) / 3


def test_rejects_invalid_mention_option_and_empty_kb(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError) as refused:
        Statements(kb, 5, mention="longest")  # type: ignore[arg-type]
    assert refused.value.code == "config-invalid"
    monkeypatch.setattr(kb, "term_names", kb.term_names[:0])
    with pytest.raises(InputError) as empty:
        Statements(kb, 5)
    assert empty.value.code == "kb-empty"


@pytest.fixture(scope="module")
def tokens() -> Tokenizer:
    return Tokenizer(tokenizer_json())


def is_part(part: list[int], whole: list[int]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def test_samples_match_statements(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    samples: Samples[Sample] = KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens), 1000, 7)
    assert len(samples) == 1000
    assert KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens), 1000, 7).epoch == len(kb.term_names)
    assert samples.__getitems__(SOME) == KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens), 10, 7).__getitems__(SOME)
    assert samples.__getitems__(SOME) != KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens), 1000, 8).__getitems__(SOME)
    assert samples.__getitems__([]) == []


def test_sample_does_not_depend_on_its_batch(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    samples = KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens), 1000, 7)
    backwards = samples.__getitems__(SOME[::-1])
    assert samples.__getitems__(SOME) == backwards[::-1]
    assert [samples.__getitems__([index])[0] for index in SOME[:30]] == samples.__getitems__(SOME[:30])


@pytest.mark.parametrize("template", [GENBIOEL, GENRE])
@pytest.mark.parametrize("window", [1, 32, 64, 512])
def test_mention_is_between_its_markers(kb: KnowledgeBase, tokens: Tokenizer, template: Template, window: int) -> None:
    samples = KnowledgeSamples(kb, InputLayout(template, tokens, window), 1000, 7, mention="similar")
    for sample, said in zip(samples.__getitems__(SOME), samples.statements.at(SOME), strict=True):
        marked = tokens.ids(f" {template.start} {kb.names[said.mention]} {template.end}")
        assert is_part(marked, sample.source)
        assert len(sample.source) <= max(window, len(marked) + 2)
        assert sample.source[0] == tokens.before[0]
        assert sample.source[-1] == tokens.after[0]


def test_narrow_window_keeps_words_near_the_mention(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    samples = KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens, 64), 1000, 7)
    wider = KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens, 512), 1000, 7)
    cut = 0
    for narrow, whole in zip(samples.__getitems__(SOME), wider.__getitems__(SOME), strict=True):
        inner = narrow.source[1:-1]
        assert is_part(inner, whole.source)
        cut += len(narrow.source) < len(whole.source)
    assert cut > 20  # some statements are truncated, at least the definition of asthma


def test_prompt_and_name_follow_the_layout(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    samples = KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens), 1000, 7)
    for sample, said in zip(samples.__getitems__(SOME), samples.statements.at(SOME), strict=True):
        assert tokens.text(sample.prompt) == f" {kb.names[said.mention]} is"
        assert tokens.text(sample.name) == f" {kb.names[said.target]}"
        assert tokens.eos not in sample.name


def test_special_tokens_in_definitions_are_plain_text(kb: KnowledgeBase, tokens: Tokenizer) -> None:
    """`START`, `END` and `</s>` in a definition are tokenised as ordinary text."""
    samples = KnowledgeSamples(kb, InputLayout(GENBIOEL, tokens, 512), 1000, 7)
    met = 0
    start, end = tokens.ids(" START"), tokens.ids(" END")
    for sample, said in zip(samples.__getitems__(SOME), samples.statements.at(SOME), strict=True):
        if said.concept != INFARCTION:
            continue
        met += 1
        assert sample.source.count(tokens.eos) == 1
        assert [
            len([at for at in range(len(sample.source)) if sample.source[at : at + len(mark)] == mark]) for mark in (start, end)
        ] == [1, 1]
        assert "necrosis start of the end myocardium </s> ." in tokens.text(sample.source)
    assert met > 50


@pytest.mark.parametrize(
    ("name", "others", "best"),
    [
        ("heart attack", ["mi", "attack of the heart", "heart attacks"], 2),
        ("myocardial infarct", ["heart attack", "myocardial infarction", "infarct"], 1),
        ("fever", ["fever", "fevers"], 0),
        ("abc", ["xyz", "qrs"], 0),
        ("a", ["b", "a b"], 1),
        ("fever", ["fever and a very long rest of a name that says much more", "fevers"], 1),
    ],
)
def test_finds_closest_name(name: str, others: list[str], best: int) -> None:
    assert closest(name, others) == best


@given(NAMES, st.text("abc ", min_size=1, max_size=12))
def test_closest_name_has_highest_cosine(names: list[str], name: str) -> None:
    def cosine(other: str) -> float:
        one, two = ({f" {text} "[at : at + 3] for at in range(len(text))} for text in (name, other))
        return len(one & two) / (len(one) * len(two)) ** 0.5 if two else 0.0

    scores = [cosine(other) for other in names]
    assert scores[closest(name, names)] == pytest.approx(max(scores))


def test_name_is_closest_to_itself() -> None:
    names = ["heart failure", "heart attack", "attack"]
    assert [closest(name, names) for name in names] == [0, 1, 2]
