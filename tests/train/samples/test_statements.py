from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.train.samples.clauses import DEFINED, SINGLE, SYNONYMS
from onym.train.samples.statements import Statement, Statements
from onym.train.samples.trigrams import most_like
from tests.train.samples.made_kb import made_kb

MANY = range(3000)
INFARCTION, FEVER, HYPERTENSION, ISONIAZID, ASTHMA, TWICE, ALERT = range(7)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return made_kb(tmp_path_factory.mktemp("made"))


def context_of(statement: Statement) -> tuple[str, str]:
    """Return the template and the context of a statement; the longest template that fits is the one."""
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
def test_every_epoch_has_every_name_as_a_target_once(kb: KnowledgeBase, mention: str) -> None:
    statements = Statements(kb, 5, mention=mention)  # type: ignore[arg-type]
    terms = sorted((c, int(name)) for c in range(len(kb)) for name in kb.names_of(c))
    epochs = [statements.at(range(start, start + statements.epoch)) for start in (0, statements.epoch)]
    assert [sorted((each.concept, each.target) for each in epoch) for epoch in epochs] == [terms, terms]
    one, other = ([(each.concept, each.target) for each in epoch] for epoch in epochs)
    assert one != other


def test_the_same_seed_gives_the_same_statements(kb: KnowledgeBase) -> None:
    assert Statements(kb, 5).at(MANY) == Statements(kb, 5).at(MANY)
    assert Statements(kb, 5).at(MANY) != Statements(kb, 6).at(MANY)


@given(places=st.lists(st.integers(0, 5000), max_size=9))
def test_a_statement_does_not_depend_on_its_batch(kb: KnowledgeBase, places: list[int]) -> None:
    statements = Statements(kb, 5)
    assert statements.at(places) == [statements.at([place])[0] for place in places]


@pytest.mark.parametrize("mention", ["random", "similar"])
def test_the_target_is_never_the_mention_where_there_is_another(kb: KnowledgeBase, mention: str) -> None:
    for each in Statements(kb, 5, mention=mention).at(MANY):  # type: ignore[arg-type]
        names = kb.names_of(each.concept).tolist()
        assert {each.mention, each.target} <= set(names)
        assert (each.mention == each.target) == (len(names) == 1)
        assert each.clause.text[each.clause.start : each.clause.end] == kb.names[each.mention]


def test_every_template_comes_about_as_often(kb: KnowledgeBase) -> None:
    found = by_concept(Statements(kb, 5).at(MANY))
    for concept, templates in ((INFARCTION, DEFINED), (ASTHMA, DEFINED), (FEVER, SYNONYMS), (HYPERTENSION, SYNONYMS)):
        counts = Counter(context_of(each)[0] for each in found[concept])
        assert set(counts) == set(templates)
        assert min(counts.values()) > max(counts.values()) / 2
    assert {each.clause.text for each in found[ISONIAZID]} == {"isoniazid is isoniazid", "isoniazid is the same as isoniazid"}
    assert len({(each.clause.text, each.clause.start) for each in found[ISONIAZID]}) == 4


def test_a_context_of_definitions(kb: KnowledgeBase) -> None:
    found = by_concept(Statements(kb, 5).at(MANY))
    [definition] = kb.concept(INFARCTION).definitions
    assert {context_of(each)[1] for each in found[INFARCTION]} == {definition}
    three = kb.concept(TWICE).definitions
    pairs = {f"{one} {other}" for one in three for other in three if one != other}
    assert {context_of(each)[1] for each in found[TWICE]} == pairs


def test_a_context_of_names(kb: KnowledgeBase) -> None:
    found = by_concept(Statements(kb, 5).at(MANY))
    seen = set()
    for each in found[FEVER]:
        context = context_of(each)[1].split(", ")
        others = {kb.names[name] for name in kb.names_of(FEVER).tolist() if name not in (each.mention, each.target)}
        assert len(context) == 3
        assert set(context) == others
        seen.add(tuple(context))
    assert len(seen) == 60  # any three of five, in any order
    for each in found[HYPERTENSION]:
        assert context_of(each)[1] == kb.names[each.target]


def test_the_most_similar_name_is_the_mention(kb: KnowledgeBase) -> None:
    for each in Statements(kb, 5, mention="similar").at(MANY):
        others = [kb.names[name] for name in kb.names_of(each.concept).tolist() if name != each.target]
        if others:
            assert kb.names[each.mention] == others[most_like(kb.names[each.target], others)]


def test_random_mentions_are_all_other_names(kb: KnowledgeBase) -> None:
    found = Counter((each.target, each.mention) for each in Statements(kb, 5).at(MANY) if each.concept == INFARCTION)
    assert len(found) == 4 * 3
    assert min(found.values()) > max(found.values()) / 3


def test_what_cannot_be_is_refused(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError) as refused:
        Statements(kb, 5, mention="longest")  # type: ignore[arg-type]
    assert refused.value.code == "config-invalid"
    monkeypatch.setattr(kb, "term_names", kb.term_names[:0])
    with pytest.raises(InputError) as empty:
        Statements(kb, 5)
    assert empty.value.code == "kb-empty"
