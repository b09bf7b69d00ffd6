"""Tests of pairs of names, of mixed pairs, and of the mask of rows that must not be negatives."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.store.arrays import Ragged, Strings
from onym.train.dense.pairs import Mixed, PositivePairs, _pair, labels_of, same_of
from onym.train.dense.trainer import hard_pairs
from onym.train.samples.base import Positive, Samples
from tests.train.samples.made_kb import make_kb

SIZES = [1, 2, 30, 1, 11, 10, 3, 200, 1]  # names per concept, around the limit of 50 pairs: 10 names have 45 pairs, 11 have 55
CONCEPTS, NAMES = 6, 8
MEANT = st.lists(st.sets(st.integers(0, CONCEPTS - 1), min_size=1, max_size=3), min_size=NAMES, max_size=NAMES)
STRINGS = st.integers(0, NAMES + 3)  # numbers of strings; the highest are not names of the KB
POSITIVES = st.lists(
    st.builds(
        Positive,
        st.just("one"),
        st.just("other"),
        st.integers(0, CONCEPTS - 1),
        st.tuples(STRINGS, STRINGS),
        st.lists(st.integers(0, CONCEPTS - 1), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return make_kb(tmp_path_factory.mktemp("made"))


def kb_with_names(sizes: list[int]) -> Any:
    """Return a stub of a knowledge base with these numbers of names per concept."""
    terms = np.cumsum([0, *sizes]).astype(np.uint32)
    names = Strings.of([f"n{number:06}" for number in range(terms[-1])])
    return SimpleNamespace(
        concept_terms=terms, term_names=np.arange(terms[-1], dtype=np.uint32), names=names, folder=Path("kb")
    )


def by_concept(pairs: list[Positive]) -> dict[int, list[tuple[int, int]]]:
    found = defaultdict(list)
    for pair in pairs:
        found[pair.concept].append(pair.names)
    return found


def epochs(pairs: PositivePairs, count: int) -> list[list[Positive]]:
    return [pairs.__getitems__(range(number * pairs.epoch, (number + 1) * pairs.epoch)) for number in range(count)]


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8).filter(lambda sizes: max(sizes) > 1),
    st.integers(0, 2**40),
    st.integers(1, 60),
)
def test_epoch_has_all_pairs_up_to_the_limit(sizes: list[int], seed: int, max_pairs: int) -> None:
    kb = kb_with_names(sizes)
    found = by_concept(epochs(PositivePairs(kb, 9, seed, max_pairs=max_pairs), 1)[0])
    assert set(found) == {concept for concept, size in enumerate(sizes) if size > 1}
    for concept, pairs in found.items():
        names = range(int(kb.concept_terms[concept]), int(kb.concept_terms[concept + 1]))
        all_pairs = set(combinations(names, 2))
        assert len(pairs) == len(set(pairs)) == min(max_pairs, len(all_pairs))
        assert set(pairs) <= all_pairs


def test_limits_concept_to_fifty_pairs() -> None:
    found = by_concept(epochs(PositivePairs(kb_with_names(SIZES), 9), 1)[0])
    assert {concept: len(pairs) for concept, pairs in found.items()} == {1: 1, 2: 50, 4: 50, 5: 45, 6: 3, 7: 50}


def test_epochs_have_same_pairs_in_other_order() -> None:
    first, second = epochs(PositivePairs(kb_with_names(SIZES), 9, 3), 2)
    assert Counter(pair.names for pair in first) == Counter(pair.names for pair in second)
    assert first != second
    neighbours = Counter(one.concept == other.concept for one, other in pairwise(first))
    assert neighbours[True] < neighbours[False]


def test_draws_pairs_uniformly() -> None:
    """With 12 names, 50 of 66 pairs are drawn; over many seeds, every pair is drawn about equally often."""
    drawn = [frozenset(pair.names for pair in epochs(PositivePairs(kb_with_names([12]), 9, seed), 1)[0]) for seed in range(400)]
    counts = Counter(names for each in drawn for names in each)
    assert set(counts) == set(combinations(range(12), 2))
    assert all(250 < count < 350 for count in counts.values())  # expected: 400 * 50 / 66 = 303
    assert len(set(drawn)) > 390


def test_concepts_of_same_size_draw_different_pairs() -> None:
    found = by_concept(epochs(PositivePairs(kb_with_names([40, 40]), 9), 1)[0])
    assert {(one - 40, other - 40) for one, other in found[1]} != set(found[0])


def test_pairs_are_determined_by_seed() -> None:
    indices, kb = range(500), kb_with_names(SIZES)
    assert PositivePairs(kb, 9, 5).__getitems__(indices) == PositivePairs(kb, 9, 5).__getitems__(indices)
    assert PositivePairs(kb, 9, 5).__getitems__(indices) != PositivePairs(kb, 9, 6).__getitems__(indices)


@given(indices=st.lists(st.integers(0, 5000), max_size=9))
def test_pair_does_not_depend_on_its_batch(indices: list[int]) -> None:
    pairs = PositivePairs(kb_with_names(SIZES), 9, 5)
    assert pairs.__getitems__(indices) == [pairs.__getitems__([index])[0] for index in indices]


def test_pairs_of_real_kb(kb: KnowledgeBase) -> None:
    pairs: Samples[Positive] = PositivePairs(kb, count=77, seed=1)
    assert len(pairs) == 77
    found = pairs.__getitems__(range(PositivePairs(kb, 77).epoch))
    expected = {
        (concept, *sorted(names)) for concept in range(len(kb)) for names in combinations(kb.names_of(concept).tolist(), 2)
    }
    assert {(pair.concept, *sorted(pair.names)) for pair in found} == expected
    assert len(found) == len(expected)
    for pair in found:
        assert (pair.first, pair.second) == tuple(kb.names[name] for name in pair.names)
        assert pair.also == ()


@given(
    st.lists(st.integers(0, 10**13), min_size=1)
    | st.integers(1, 4 * 10**6).map(lambda n: [n * (n - 1) // 2 - 1, n * (n - 1) // 2])
)
def test_ranks_map_to_distinct_pairs(ranks: list[int]) -> None:
    ranks = [rank for rank in ranks if rank >= 0]
    one, other = _pair(np.array(ranks, dtype=np.int64))
    assert ((one >= 0) & (one < other)).all()
    assert (other * (other - 1) // 2 + one).tolist() == ranks


def test_first_ranks_use_first_names() -> None:
    one, other = _pair(np.arange(6))
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]


def test_rejects_invalid_max_pairs_and_kb_without_synonyms(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        PositivePairs(kb_with_names([2]), 9, max_pairs=0)
    assert refused.value.code == "config-invalid"
    (tmp_path / "single.tsv").write_text("id\tname\nmesh:D000001\tFever\nmesh:D000002\tCough\n")
    build_kb(Recipe.of({"sources": [{"path": "single.tsv"}]}), tmp_path / "kb", root=tmp_path)
    with pytest.raises(InputError) as empty:
        PositivePairs(KnowledgeBase.open(tmp_path / "kb"), 9)
    assert empty.value.code == "training-empty"


@dataclass(frozen=True)
class Numbered:
    """A fake source whose pairs contain the name of the source and their index."""

    source: str
    epoch: int = 10
    count: int = 0

    def __len__(self) -> int:
        return self.count

    def with_count(self, count: int) -> Numbered:
        return replace(self, count=count)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        return [Positive(self.source, "", index, (0, 1)) for index in indices]


def make_mixed(share: float) -> Mixed:
    return Mixed(Numbered("own"), Numbered("other"), share)


@given(share=st.floats(0, 0.99), count=st.integers(1, 300))
def test_mixed_keeps_order_and_share(share: float, count: int) -> None:
    found = make_mixed(share).__getitems__(range(count))
    for source in ("own", "other"):
        indices = [pair.concept for pair in found if pair.first == source]
        assert indices == list(range(len(indices)))
    assert abs(sum(pair.first == "other" for pair in found) - share * count) < 1 + count / 1000


@given(share=st.floats(0, 0.99), indices=st.lists(st.integers(0, 10**9), max_size=9))
def test_mixed_pair_does_not_depend_on_its_batch(share: float, indices: list[int]) -> None:
    pairs = make_mixed(share)
    assert pairs.__getitems__(indices) == [pairs.__getitems__([index])[0] for index in indices]


def test_epoch_length_of_mixed_pairs() -> None:
    assert [make_mixed(share).epoch for share in (0, 0.5, 0.75, 1 / 3, 0.99999)] == [10, 20, 40, 15, 10_000]
    assert (len(make_mixed(0.5)), len(make_mixed(0.5).with_count(7))) == (0, 7)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_rejects_invalid_share(share: float) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        make_mixed(share)


def kb_with_meanings(meant: list[set[int]]) -> Any:
    """Return a stub of a knowledge base; `meant` lists the concepts of each name."""
    offsets = np.cumsum([0, *map(len, meant)]).astype(np.uint32)
    values = np.array([concept for each in meant for concept in sorted(each)], dtype=np.uint32)
    names = Strings.of([f"n{number}" for number in range(len(meant))])

    class Kb(SimpleNamespace):
        def __len__(self) -> int:
            return CONCEPTS

    return Kb(names=names, name_concepts=Ragged(offsets, values))


@given(MEANT, POSITIVES)
def test_same_rows_share_a_string_or_concept_and_differ_in_label(meant: list[set[int]], positives: list[Positive]) -> None:
    rows = [
        (each.concept, each.names[side], {each.concept, *(each.also if side == 0 else ())})
        for side in (0, 1)
        for each in positives
    ]
    rows = [(label, name, concepts | (meant[name] if name < NAMES else set())) for label, name, concepts in rows]
    expected = [
        [one[0] != other[0] and (one[1] == other[1] or not one[2].isdisjoint(other[2])) for other in rows] for one in rows
    ]
    found = same_of(positives, kb_with_meanings(meant))
    assert found.tolist() == expected
    assert labels_of(positives).tolist() == [row[0] for row in rows]


def test_name_of_two_concepts_is_not_a_negative_of_either(kb: KnowledgeBase) -> None:
    torch = pytest.importorskip("torch")
    infarction, alert = 0, 6  # both strings are names of the same concept, heart attack
    pairs = [pair for pair in PositivePairs(kb, 9).__getitems__(range(40)) if pair.concept in (infarction, alert)]
    labels, same = labels_of(pairs), same_of(pairs, kb)
    strings = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    shared = np.array([string == "heart attack" for string in strings])
    differ = labels[:, None] != labels
    assert differ[np.ix_(shared, shared)].any()
    assert same[differ & (shared[:, None] | shared)].all()
    assert not same[~shared][:, ~shared].any()
    found = hard_pairs(torch.ones(len(labels), 2), torch.from_numpy(labels), same=torch.from_numpy(same))
    assert not found.negative[torch.from_numpy(same)].any()
    assert found.negative.any()


def test_same_mask_of_a_large_batch(kb: KnowledgeBase) -> None:
    pairs = PositivePairs(kb, 9).__getitems__(range(600))
    assert same_of(pairs, kb).shape == (1200, 1200)
