"""Tests of preference pairs, of similar wrong names, and of the file of pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.datasets import PreparedDataset
from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.methods.generative.linker import GenerativeLinker
from onym.train.generative.prefer import (
    NONE,
    Lookalikes,
    PairSamples,
    PreferencePair,
    iter_kb_preferences,
    lookalike_preferences,
    predict_preferences,
    rank_preferences,
    read_pairs,
    write_pairs,
)
from onym.train.generative.statements import Statements
from onym.train.samples.base import Pair
from onym.train.samples.mentions import DocMention, gold_concepts, mentions_of, targets_of
from onym.types import Mention
from tests.train.tiny import layout

RANKED = st.lists(st.booleans(), max_size=8)
ROWS = """id\tname\tsynonyms
mesh:D000001\tfever\tfevers|a fever|the fever|fever sign|feverish|fever state|fever rise
mesh:D000002\tyellow fever\tfever
mesh:D000003\tlassa fever\t
mesh:D000004\thay fever\thayfever
mesh:D000005\tq fever\t
mesh:D000006\tdengue fever\t
mesh:D000007\trheumatic fever\t
mesh:D000008\theart attack\t
"""
FEVER, YELLOW = 0, 1
TEXTS = [("He had a Heart attack.", 9, 21), ("The fever rose.", 4, 9)]
PREFERRED = [PreferencePair(0, 1, 4), PreferencePair(1, 4, 0), PreferencePair(1, 5, 2)]
REFERENCES = [(-1.0, -2.0), (-0.1, -9.5), (-3.25, -0.5)]


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(scope="module")
def mentions(corpus: Path) -> list[DocMention]:
    return mentions_of(PreparedDataset.open(corpus).documents("train"))


def require_sound(found: list[PreferencePair], golds: list[frozenset[int]], kb: KnowledgeBase) -> None:
    assert found
    for each in found:
        gold = golds[each.mention]
        assert gold & set(kb.name_concepts[each.right].tolist())
        assert not gold & set(kb.name_concepts[each.wrong].tolist())


@pytest.mark.parametrize("rule", ["violating", "all"])
def test_pairs_predictions_by_rule(model: Path, kb: KnowledgeBase, mentions: list[DocMention], rule: str) -> None:
    linker = GenerativeLinker.from_pretrained(model, kb, window=32, width=5, dtype="fp32")
    found = predict_preferences(linker, mentions, top_k=4, rule=rule)  # type: ignore[arg-type]
    golds = [gold_concepts(mention, kb) for _, mention in mentions]
    require_sound(found, golds, kb)
    expected = []
    for number, decoded in enumerate(linker.decode_mentions(mentions)):
        names = [int(linker.trie.names_at(each.leaf)[0]) for each in decoded.hypotheses[:4]]
        is_right = [bool(golds[number] & set(kb.name_concepts[name].tolist())) for name in names]
        expected += [PreferencePair(number, names[good], names[bad]) for good, bad in rank_preferences(is_right, rule=rule)]  # type: ignore[arg-type]
    assert found == expected


def test_pairs_lookalikes(kb: KnowledgeBase, mentions: list[DocMention]) -> None:
    found = lookalike_preferences(mentions, kb, seed=1)
    require_sound(found, [gold_concepts(mention, kb) for _, mention in mentions], kb)
    targets = targets_of(mentions, kb)
    assert all(each.right == targets[each.mention][0] for each in found)
    assert found == lookalike_preferences(mentions, kb, seed=1)


def test_pairs_kb_statements(kb: KnowledgeBase) -> None:
    statements = Statements(kb, 3)
    found = list(iter_kb_preferences(statements, kb, 40, seed=3))
    stated = statements.at(range(40))
    assert [each.right for each in found] == [stated[each.mention].target for each in found]
    golds = [frozenset(kb.name_concepts[statement.mention].tolist()) for statement in stated]
    require_sound(found, golds, kb)
    assert [each.mention for each in found] == sorted({each.mention for each in found})


def test_gold_concepts_are_those_in_kb(kb: KnowledgeBase) -> None:
    both = gold_concepts(Mention(0, 2, "MI", ("mesh:D009203", "mesh:D006973", "mesh:D0")), kb)
    assert {kb.concept_ids[concept] for concept in both} == {"mesh:D009203", "mesh:D006973"}
    assert gold_concepts(Mention(0, 2, "MI"), kb) == frozenset()


@given(RANKED)
def test_rule_all_pairs_every_right_with_every_wrong(is_right: list[bool]) -> None:
    ranks = range(len(is_right))
    expected = {(good, bad) for good in ranks for bad in ranks if is_right[good] and not is_right[bad]}
    found = rank_preferences(is_right, rule="all")
    assert len(found) == len(expected)
    assert set(found) == expected


@given(RANKED)
def test_rule_violating_pairs_wrong_order_and_keeps_the_best(is_right: list[bool]) -> None:
    found = rank_preferences(is_right)
    violating = {(good, bad) for good, bad in rank_preferences(is_right, rule="all") if bad < good}
    kept = {(0, is_right.index(False))} if is_right[:1] == [True] and False in is_right else set()
    assert set(found) == violating | kept
    assert len(found) == len(set(found))


def test_rule_violating_examples() -> None:
    assert rank_preferences([True, True, False, True, False]) == [(0, 2), (3, 2)]
    assert rank_preferences([False, False, True]) == [(2, 0), (2, 1)]
    assert rank_preferences([True, True]) == rank_preferences([False, False]) == rank_preferences([]) == []


@pytest.fixture(scope="module")
def fevers(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder: Path = tmp_path_factory.mktemp("fevers")
    (folder / "fevers.tsv").write_text(ROWS)
    build_kb(Recipe.of({"sources": [{"path": "fevers.tsv"}]}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


@pytest.fixture(scope="module")
def lookalikes(fevers: KnowledgeBase) -> Lookalikes:
    return Lookalikes(fevers, count=3, seed=4)


def best_wrong(fevers: KnowledgeBase, surface: str, gold: set[int], count: int) -> set[str]:
    """Return the most similar wrong names by brute force."""
    from onym.text.similarity import NameSimilarity

    rows, _ = NameSimilarity.of(fevers.names).top([surface], len(fevers.names))[0]
    wrong = [int(row) for row in rows if gold.isdisjoint(fevers.name_concepts[int(row)].tolist())]
    return {fevers.names[row] for row in wrong[:count]}


@pytest.mark.parametrize("gold", [{FEVER}, {FEVER, YELLOW}, {YELLOW}, set(range(6)), set()])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_draws_only_closest_wrong_names(fevers: KnowledgeBase, gold: set[int], count: int) -> None:
    """In some cases all names of the first search are right, so the search must be repeated for more names."""
    found = Lookalikes(fevers, count=count).names_for(["Fever!"] * 200, [gold] * 200, range(200))
    assert {fevers.names[name] for name in found} == best_wrong(fevers, "fever", gold, count)


def test_shared_name_is_right_for_both_concepts(fevers: KnowledgeBase, lookalikes: Lookalikes) -> None:
    found = lookalikes.names_for(["fever"] * 100, [{YELLOW}] * 100, range(100))
    assert "fever" not in {fevers.names[name] for name in found}


def test_lookalike_is_determined_by_seed_and_index(fevers: KnowledgeBase, lookalikes: Lookalikes) -> None:
    surfaces, gold = ["fever", "hay fevers", "attack of the heart", "fever of lassa"] * 10, [{FEVER}, {3}, {7}, {2}] * 10
    found = lookalikes.names_for(surfaces, gold, range(40))
    assert found == Lookalikes(fevers, count=3, seed=4).names_for(surfaces, gold, range(40))
    assert found != Lookalikes(fevers, count=3, seed=5).names_for(surfaces, gold, range(40))
    alone = [
        lookalikes.names_for([surface], [own], [index])[0]
        for index, (surface, own) in enumerate(zip(surfaces, gold, strict=True))
    ]
    assert found == alone


def test_draws_lookalikes_uniformly(lookalikes: Lookalikes) -> None:
    found = lookalikes.names_for(["fever"] * 900, [{FEVER}] * 900, range(900))
    _, counts = np.unique(found, return_counts=True)
    assert len(counts) == 3
    assert counts.min() > 240


def test_returns_none_without_similar_wrong_names(lookalikes: Lookalikes) -> None:
    assert lookalikes.names_for(["xyz", "", "fever"], [{1}, {1}, set(range(8))], [0, 1, 2]) == [NONE, NONE, NONE]
    assert lookalikes.names_for([], [], []) == []


@pytest.fixture
def pairs(tiny_kb: Path, model: Path) -> PairSamples:
    names = KnowledgeBase.open(tiny_kb).names
    return PairSamples(PREFERRED, TEXTS.__getitem__, names, layout(model), 9, seed=2, references=REFERENCES)


def test_pair_layout_is_the_same_as_for_linking(pairs: PairSamples, model: Path) -> None:
    how = layout(model)
    assert pairs.at(2) == Pair(
        how.source(*TEXTS[1]), how.prompt("fever"), how.name(pairs.names[5]), how.name(pairs.names[2]), REFERENCES[2]
    )


def test_epoch_has_each_pair_once_with_its_reference(pairs: PairSamples) -> None:
    assert len(pairs) == 9
    expected = [pairs.at(row) for row in range(3)]
    found = [pairs.__getitems__(range(start, start + 3)) for start in (0, 3, 6)]
    for epoch in found:
        assert sorted(map(repr, epoch)) == sorted(map(repr, expected))
    assert not found[0] == found[1] == found[2]
    assert [pairs.__getitems__([index])[0] for index in range(9)] == [pair for epoch in found for pair in epoch]


def test_references_default_to_zero(pairs: PairSamples) -> None:
    bare = PairSamples(PREFERRED, TEXTS.__getitem__, pairs.names, pairs.layout, 3)
    assert {pair.reference for pair in bare.__getitems__(range(3))} == {(0.0, 0.0)}


def test_file_keeps_full_precision(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    references = [(-1 / 3, -1e-17), (-0.1, -(2.0**-40)), (-3e30, 0.0)]
    write_pairs(PREFERRED, references, path)
    assert read_pairs(path) == (PREFERRED, references)
    assert not any(letter.isalpha() for letter in path.read_text().replace("e", ""))


@pytest.mark.parametrize("text", ["[0, 1, 2]\n", "[0, 1, 2, null, 1]\n", "[0, 1", "3\n", '{"a": 1}\n'])
def test_rejects_invalid_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "pairs.jsonl").write_text(text)
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        read_pairs(tmp_path / "pairs.jsonl")
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        read_pairs(tmp_path / "none.jsonl")


def test_rejects_different_numbers_of_references_and_pairs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        write_pairs(PREFERRED, REFERENCES[:2], tmp_path / "pairs.jsonl")
    assert not (tmp_path / "pairs.jsonl").exists()
