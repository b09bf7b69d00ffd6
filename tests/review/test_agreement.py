"""Kappa and alpha against published examples, and their properties."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.review.agreement import HierarchyDistance, cohen_kappa, krippendorff_alpha

# Krippendorff (2011): two observers with binary data, two with nominal data, four with missing data
MEG, OWEN = "0100000010", "1110010000"
BEN, GERRY = "aabbdcccedda", "babbbccceddd"
FOUR = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
# Cohen (1968), table 1: 200 cases by two judges, as proportions of judge B (rows) by judge A, and the weights of disagreement
COHEN = np.array([[0.44, 0.07, 0.09], [0.05, 0.20, 0.05], [0.01, 0.03, 0.06]])
WEIGHTS = np.array([[0, 1, 3], [1, 0, 6], [3, 6, 0]])
NAMES = ("personality disorder", "neurosis", "psychosis")


def _units(*reviewers: str) -> list[list[str | None]]:
    return [[None if label == "." else label for label in unit] for unit in zip(*reviewers, strict=True)]


def _judges() -> tuple[list[str], list[str]]:
    counts = np.rint(COHEN * 200).astype(int)
    pairs = [(NAMES[b], NAMES[a]) for b in range(3) for a in range(3) for _ in range(counts[b, a])]
    return [b for b, _ in pairs], [a for _, a in pairs]


def _square(one: object, other: object) -> float:
    return float((int(str(one)) - int(str(other))) ** 2)


def test_alpha_of_published_examples() -> None:
    assert krippendorff_alpha(_units(MEG, OWEN)) == pytest.approx(0.095, abs=5e-4)
    assert krippendorff_alpha(_units(BEN, GERRY)) == pytest.approx(0.692, abs=5e-4)
    assert krippendorff_alpha(_units(*FOUR)) == pytest.approx(0.743, abs=5e-4)


def test_alpha_with_a_distance() -> None:
    assert krippendorff_alpha(_units(*FOUR), _square) == pytest.approx(0.849, abs=5e-4)

    def ratio(one: object, other: object) -> float:
        return (int(str(one)) - int(str(other))) ** 2 / (int(str(one)) + int(str(other))) ** 2

    assert krippendorff_alpha(_units(*FOUR), ratio) == pytest.approx(0.797, abs=5e-4)


def test_kappa_of_a_published_example() -> None:
    assert cohen_kappa(*_judges()) == pytest.approx(0.492, abs=5e-4)

    def weight(one: object, other: object) -> float:
        return float(WEIGHTS[NAMES.index(str(one)), NAMES.index(str(other))])

    assert cohen_kappa(*_judges(), weight) == pytest.approx(0.348, abs=5e-4)


def test_undefined_coefficients() -> None:
    assert cohen_kappa([], []) is None
    assert cohen_kappa(["a", None], [None, "a"]) is None
    assert cohen_kappa(["a", "a"], ["a", "a"]) is None
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([("a",), ("b", None)]) is None
    assert krippendorff_alpha([("a", "a"), ("a", "a")]) is None


LABELS = st.lists(st.tuples(*[st.sampled_from([None, "a", "b", "c"])] * 3), max_size=30)


@given(LABELS)
def test_alpha_does_not_depend_on_order(units: list[tuple[str | None, ...]]) -> None:
    own, turned = krippendorff_alpha(units), krippendorff_alpha([unit[::-1] for unit in units[::-1]])
    assert own == pytest.approx(turned, abs=1e-12) if own is not None else turned is None


@given(LABELS)
def test_only_equal_labels_agree_perfectly(units: list[tuple[str | None, ...]]) -> None:
    said = [[label for label in unit if label] for unit in units]
    is_perfect = all(len(set(unit)) == 1 for unit in said if len(unit) > 1)
    alpha = krippendorff_alpha(units)
    if alpha is not None:
        assert (alpha == pytest.approx(1.0)) is is_perfect


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=1, max_size=30))
def test_kappa_is_symmetric(pairs: list[tuple[str, str]]) -> None:
    one, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    kappa = cohen_kappa(one, other)
    assert kappa is None or kappa == pytest.approx(cohen_kappa(other, one), abs=1e-12)


@pytest.fixture
def family_kb(tmp_path: Path) -> KnowledgeBase:
    """Return a knowledge base of a parent, two children, a grandchild, and a concept apart."""
    parents = {"x:1": "", "x:2": "x:1", "x:3": "x:1", "x:4": "x:3", "x:9": ""}
    text = "".join(f"{concept}\tname of {concept}\t{parent}\n" for concept, parent in parents.items())
    (tmp_path / "family.tsv").write_text("id\tname\tparents\n" + text)
    build_kb(Recipe.of({"sources": [{"path": "family.tsv"}]}), tmp_path / "kb", root=tmp_path)
    return KnowledgeBase.open(tmp_path / "kb")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("x:1", "x:2", 0.25),
        ("x:2", "x:3", 0.5),
        ("x:2", "x:4", 0.75),
        ("x:1", "x:9", 1.0),
        ("x:1", "not-a-mention", 1.0),
    ],
)
def test_distance_in_the_hierarchy(family_kb: KnowledgeBase, one: str, other: str, expected: float) -> None:
    distance = HierarchyDistance.open(family_kb)
    assert distance(one, other) == distance(other, one) == expected


def test_near_misses_count_less_than_far_ones(family_kb: KnowledgeBase) -> None:
    distance = HierarchyDistance.open(family_kb)
    near = krippendorff_alpha([("x:1", "x:2"), ("x:9", "x:9")], distance)
    exact = krippendorff_alpha([("x:1", "x:2"), ("x:9", "x:9")])
    assert near is not None
    assert exact is not None
    assert near > exact
