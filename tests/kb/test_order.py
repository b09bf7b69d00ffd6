"""Tests of the order of candidates with equal scores."""

from __future__ import annotations

from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.order import RULES, deciding_rule
from onym.kb.ranking import rank_scored
from onym.kb.recipe import Recipe
from onym.types import NameKind

MESH = """id\tname\tsynonyms
mesh:D1\tcancer\ttumour|outgrowth|growth
mesh:D2\tneoplasm\tcancer
mesh:C1\tcancer\tneoplasm
mesh:C2\toutgrowth\tcancer|growth
mesh:D3\tlump\tcancer
mesh:D4\tswelling\tcancer|bulge
"""
MONDO = "id\tname\tsynonyms\nmondo:1\tcancer\toutgrowth\nmondo:2\ttumour\tcancer\n"
HP = "id\tname\tsynonyms\nhp:1\tcancer\t\n"
LATER = "id\tname\tsynonyms\nmesh:D5\t\tcancer\n"


def make_kb(folder: Path, *sources: str) -> KnowledgeBase:
    """Build a knowledge base from tables, in the order of a recipe."""
    tables = []
    for number, table in enumerate(sources):
        (folder / f"{number}.tsv").write_text(table)
        tables.append({"path": f"{number}.tsv", "name": f"source {number}"})
    build_kb(Recipe.of({"sources": tables}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return make_kb(tmp_path_factory.mktemp("order"), MESH, MONDO, HP, LATER)


def ids(kb: KnowledgeBase, name: str) -> list[str]:
    row = kb.find(name)
    best = dict.fromkeys(kb.concepts_named(name), (1.0, row))
    return [candidate.concept_id for candidate in rank_scored(kb, best, 100).candidates]


def test_rules_break_ties_in_order(kb: KnowledgeBase) -> None:
    assert ids(kb, "cancer") == [
        "mesh:D1",  # preferred name, first vocabulary, main record
        "mesh:C1",  # a supplementary record, but cancer is its preferred name
        "mondo:1",  # a later vocabulary, but cancer is its preferred name
        "hp:1",
        "mesh:D2",  # synonym of a main record from the first source, two names, lower id
        "mesh:D3",
        "mesh:D4",  # has three names
        "mesh:D5",  # name is from a later source
        "mesh:C2",
        "mondo:2",
    ]


def test_deciding_rule_is_the_first_difference(kb: KnowledgeBase) -> None:
    row = kb.find("cancer")
    keys = [kb.order.key(kb.concept_ids.find(each), row) for each in ids(kb, "cancer")]
    decided = [deciding_rule(one, other) for one, other in pairwise(keys)]
    name = "preferred-name"
    assert decided == ["record", "vocabulary", "vocabulary", name, "id", "names", "source", "record", "vocabulary"]
    assert set(RULES) - set(decided) == {"preferred-vocabulary", "kind"}


@pytest.mark.parametrize(
    ("name", "prefer", "meaning"),
    [
        ("lump", [], "mesh:D3"),  # only one concept has the name
        ("cancer", [], None),  # the preferred name of two concepts of the first vocabulary that has it
        ("tumour", [], "mondo:2"),  # a preferred name comes before a synonym
        ("tumour", ["mesh"], "mesh:D1"),  # but the vocabulary that is asked for comes first
        ("tumour", ["hp", "mesh"], "mesh:D1"),
        ("cancer", ["mondo"], None),
        ("cancer", ["hp"], "hp:1"),
        ("lump", ["mondo"], None),  # not a name of that vocabulary
        ("outgrowth", [], "mesh:C2"),
        ("growth", [], None),  # an ordinary word
        ("no name", [], None),
    ],
)
def test_meaning_of_a_name(kb: KnowledgeBase, name: str, prefer: list[str], meaning: str | None) -> None:
    other = KnowledgeBase.open(kb.folder.parent, prefer=prefer)
    concept = other.order.meaning(other.find(name))
    assert (None if concept < 0 else other.concept_ids[concept]) == meaning


def test_a_filter_does_not_make_an_ordinary_word_decide(kb: KnowledgeBase) -> None:
    name = kb.find("growth")
    for concept in kb.name_concepts[name].tolist():
        assert kb.order.meaning(name, np.arange(len(kb)) == concept) == -1


@pytest.mark.parametrize(
    ("row", "meaning"), [("CKD", "mesh:D1"), ("kidney disease", "mondo:1"), ("CSA", None), ("AML", "mondo:2")]
)
def test_an_abbreviation_means_a_concept_of_the_first_vocabulary_only(tmp_path: Path, row: str, meaning: str | None) -> None:
    mesh = "id\tname\tsynonyms\nmesh:D1\trenal insufficiency\tCKD\n"
    mondo = "id\tname\tsynonyms\nmondo:1\tkidney disease\tCSA\nmondo:2\tAML\t\n"
    kb = make_kb(tmp_path, mesh, mondo)
    concept = kb.order.meaning(kb.find(row))
    assert (None if concept < 0 else kb.concept_ids[concept]) == meaning


@given(st.data())
def test_the_meaning_is_first_in_the_order(kb: KnowledgeBase, data: st.DataObject) -> None:
    prefer = data.draw(st.lists(st.sampled_from(["mesh", "mondo", "hp"]), unique=True))
    other = KnowledgeBase.open(kb.folder.parent, prefer=prefer)
    name = data.draw(st.integers(0, len(kb.names) - 1))
    only = np.array(data.draw(st.lists(st.booleans(), min_size=len(kb), max_size=len(kb))))
    for mask in (None, only):
        concept = other.order.meaning(name, mask)
        found = {each: (1.0, name) for each in other.name_concepts[name].tolist() if mask is None or mask[each]}
        assert concept < 0 or next(other.order.rank(found))[0] == concept


def test_vocabularies_are_ordered_as_in_the_recipe(tmp_path: Path) -> None:
    for number, order in enumerate(permutations((MESH, MONDO, HP))):
        folder = tmp_path / str(number)
        folder.mkdir()
        wanted = tuple(each.splitlines()[1].partition(":")[0] for each in order)
        assert make_kb(folder, *order).order.vocabularies == wanted


def test_the_vocabulary_with_more_names_of_a_source_comes_first(tmp_path: Path) -> None:
    one = "id\tname\nzfa:1\ta\nzfa:2\tb\nabc:1\ta\n"
    kb = make_kb(tmp_path, one, MESH)
    assert kb.order.vocabularies == ("zfa", "abc", "mesh")
    assert ids(kb, "a") == ["zfa:1", "abc:1"]


@pytest.mark.parametrize("prefer", [["mondo"], ["MONDO", "hp"], ["hp", "mondo", "mesh"], []])
def test_a_preferred_vocabulary_comes_first(kb: KnowledgeBase, prefer: list[str]) -> None:
    other = KnowledgeBase.open(kb.folder.parent, prefer=prefer)
    wanted = tuple(dict.fromkeys([*(each.lower() for each in prefer), "mesh", "mondo", "hp"]))
    assert other.order.vocabularies == wanted
    found = [each.partition(":")[0] for each in ids(other, "cancer")]
    assert tuple(dict.fromkeys(found)) == wanted
    assert other.digest == kb.digest


def test_rejects_an_unknown_vocabulary_on_opening(kb: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="vocabulary-unknown") as error:
        KnowledgeBase.open(kb.folder.parent, prefer=["umls"])
    assert "hp, mesh, mondo" in str(error.value)


@given(st.data())
def test_ranking_agrees_with_sorting_all_keys(kb: KnowledgeBase, data: st.DataObject) -> None:
    """For any concepts, names, scores and input order, the ranking equals a plain sort by all keys."""
    pairs = [(concept, int(name)) for concept in range(len(kb)) for name in kb.names_of(concept)]
    drawn = data.draw(st.lists(st.sampled_from(pairs), min_size=1, unique_by=lambda pair: pair[0]))
    scores = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, -0.0]), min_size=len(drawn), max_size=len(drawn)))
    found = {concept: (score, name) for (concept, name), score in zip(drawn, scores, strict=True)}
    keys = {concept: kb.order.key(concept, name) for concept, (_, name) in found.items()}
    assert len(set(keys.values())) == len(keys)
    plain = sorted(found, key=lambda concept: (-found[concept][0], keys[concept]))
    for order in (found, dict(reversed(found.items())), dict(data.draw(st.permutations(list(found.items()))))):
        assert [concept for concept, _, _ in kb.order.rank(order)] == plain
        cut = rank_scored(kb, order, 1)
        assert cut.candidates[0].concept_id == kb.concept_ids[plain[0]]
        assert cut.tied == sum(score == found[plain[0]][0] for score, _ in found.values()) - 1


def test_the_kind_of_a_name_depends_on_the_concept(kb: KnowledgeBase) -> None:
    row = kb.find("neoplasm")
    kinds = {each: kb.kind_and_source(kb.concept_ids.find(each), row)[0] for each in ("mesh:D2", "mesh:C1")}
    assert kinds == {"mesh:D2": NameKind.PREFERRED, "mesh:C1": NameKind.EXACT}
