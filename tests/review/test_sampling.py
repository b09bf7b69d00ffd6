"""Strata, allocation and sample sizes of an audit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.review.sampling import (
    FLOOR,
    MIN_LABELS,
    MIN_LINKS,
    OTHER_TYPES,
    Strata,
    Z,
    allocate,
    documents_to_read,
    draw_links,
    labels_at_random,
    margin_of,
    stratify,
)

CONFIDENCES = st.lists(st.one_of(st.just(math.nan), st.floats(0, 1)), min_size=1, max_size=400)


@given(CONFIDENCES, st.integers(1, 4))
def test_strata_are_sound(confidences: list[float], kinds: int) -> None:
    strata = stratify(confidences, [f"type {number % kinds}" for number in range(len(confidences))])
    assert strata.sizes.sum() == len(confidences)
    assert strata.sizes.min() >= min(MIN_LINKS, len(confidences))
    assert set(strata.stratum.tolist()) == set(range(len(strata.types)))
    assert (strata.variances >= FLOOR * (1 - FLOOR) - 1e-12).all()


@given(CONFIDENCES, st.sampled_from([0.02, 0.05, 0.2]))
def test_allocation_reaches_the_margin(confidences: list[float], margin: float) -> None:
    strata = stratify(confidences, [""] * len(confidences))
    labels = allocate(strata, margin)
    assert (labels >= np.minimum(MIN_LABELS, strata.sizes)).all()
    assert (labels <= strata.sizes).all()
    assert margin_of(strata, labels) <= margin + 1e-9


def test_strata_of_a_type_do_not_overlap() -> None:
    values = np.random.default_rng(0).beta(5, 1, 2_000)
    described = stratify(values, ["Disease"] * 2_000).describe(np.full(5, 7))
    assert [each.labels for each in described] == [7] * 5
    highs = [each.high for each in described][:-1]
    lows = [each.low for each in described][1:]
    assert all(high < low for high, low in zip(highs, lows, strict=True) if high is not None and low is not None)


def test_rare_types_share_strata() -> None:
    types = ["Disease"] * 300 + ["Gene"] * 60 + ["Species"] * 50
    assert set(stratify(np.full(410, 0.9), types).types) == {"Disease", OTHER_TYPES}
    assert set(stratify(np.full(310, 0.9), types[:300] + ["Gene"] * 10).types) == {"Disease"}
    assert stratify(np.full(10, 0.9), ["Gene"] * 10).types == ("Gene",)


def test_links_without_confidence_have_a_stratum_of_their_own() -> None:
    values = np.concatenate([np.full(100, np.nan), np.linspace(0.2, 0.9, 300)])
    strata = stratify(values, [""] * 400)
    own = set(strata.stratum[:100].tolist())
    assert len(own) == 1
    assert own.isdisjoint(strata.stratum[100:].tolist())
    assert [each.low is None for each in strata.describe(np.full(len(strata.types), 5))].count(True) == 1


def test_neyman_allocation_is_in_proportion_to_the_standard_deviations() -> None:
    stratum = np.repeat([0, 1], 50_000)
    strata = Strata(stratum, np.where(stratum == 0, 0.5, 0.9), ("a", "b"))
    one, other = allocate(strata, 0.03)
    assert one / other == pytest.approx(0.5 / 0.3, rel=0.02)
    variance = ((0.5 + 0.3) / 2) ** 2  # of an optimal allocation, times the labels
    assert one + other == pytest.approx(variance * (Z / 0.03) ** 2, rel=0.02)


def test_one_stratum_needs_as_many_labels_as_a_random_sample() -> None:
    for links, likely in ((300, 0.9), (5_000, 0.7)):
        labels = allocate(Strata(np.zeros(links, dtype=np.int64), np.full(links, likely), ("a",)), 0.03)
        assert abs(int(labels.sum()) - labels_at_random(likely, links, 0.03)) <= 1


def test_random_sampling_of_published_tables() -> None:
    """Cochran (1977), section 4.4: 5 % margin at P = 0.5 needs 385 labels in a large population; 357 of 5,000 at most."""
    assert labels_at_random(0.5, 10**9, 0.05) == 385
    assert labels_at_random(0.5, 5_000, 0.05) == 357
    assert labels_at_random(1.0, 100, 0.05) == 0


def test_links_are_drawn_as_planned() -> None:
    strata = stratify(np.linspace(0, 1, 1_000), ["a"] * 1_000)
    labels = allocate(strata, 0.05)
    drawn = draw_links(strata, labels, np.random.default_rng(5))
    assert len(set(drawn.tolist())) == len(drawn) == labels.sum()
    assert np.bincount(strata.stratum[drawn]).tolist() == labels.tolist()
    assert drawn.tolist() == draw_links(strata, labels, np.random.default_rng(5)).tolist()


def test_documents_to_read() -> None:
    assert documents_to_read(500, 9_000, 0.02) > documents_to_read(500, 9_000, 0.05) > 10
    assert documents_to_read(3, 30, 0.05) == 3
    assert documents_to_read(0, 0, 0.05) == 0
    assert documents_to_read(100_000, 2_000_000, 0.05) < 100


def test_plans_that_make_no_sense_are_rejected() -> None:
    with pytest.raises(ConfigError, match="audit-plan"):
        stratify([], [])
    with pytest.raises(ConfigError, match="margin"):
        allocate(stratify([0.5], [""]), 0.0)
    with pytest.raises(ConfigError, match="margin"):
        documents_to_read(10, 10, 0.7)
