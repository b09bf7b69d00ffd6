"""Tests of confidence intervals and significance tests, compared with simple resampling, scipy and known values."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.evaluate.significance import (
    T_TEST_WARNING,
    PairedBootstrap,
    _t_test_p_value,
    angel_t_test,
    bootstrap_interval,
    bootstrap_paired_sums,
    mcnemar_exact,
    paired_bootstrap,
    t_quantiles,
)

BITS = st.lists(st.integers(0, 1), min_size=1, max_size=60)
PAIRS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60)


def test_interval_matches_plain_resampling() -> None:
    hits = np.array([1] * 170 + [0] * 30)
    drawn = np.random.default_rng(5).choice(hits, (20_000, len(hits))).mean(axis=1)
    low, high = bootstrap_interval(hits, seed=1)
    assert low == pytest.approx(np.quantile(drawn, 0.025), abs=0.006)
    assert high == pytest.approx(np.quantile(drawn, 0.975), abs=0.006)


@given(BITS)
def test_interval_contains_share_and_is_deterministic(hits: list[int]) -> None:
    low, high = bootstrap_interval(hits, replicates=500)
    assert 0 <= low <= sum(hits) / len(hits) <= high <= 1
    assert (low, high) == bootstrap_interval(hits, replicates=500)


def test_interval_width_depends_on_level_and_cases() -> None:
    def width(hits: list[int], level: float) -> float:
        low, high = bootstrap_interval(hits, level=level)
        return high - low

    few, many = [1, 1, 1, 0] * 25, [1, 1, 1, 0] * 250
    assert width(few, 0.99) > width(few, 0.95) > width(few, 0.5)
    assert width(few, 0.95) == pytest.approx(width(many, 0.95) * 10**0.5, rel=0.15)


def test_interval_without_cases() -> None:
    assert bootstrap_interval([]) == (0.0, 1.0)
    assert paired_bootstrap([], []).p_value == 1.0
    assert mcnemar_exact([], []).p_value == 1.0
    assert angel_t_test([], []).p_value == 1.0


def test_correlated_cases_widen_the_interval() -> None:
    # 40 documents with 10 cases each; in each document, all cases are right or all are wrong.
    hits = [bit for bit in [1, 1, 1, 0] * 10 for _ in range(10)]
    documents = [number for number in range(40) for _ in range(10)]
    low, high = bootstrap_interval(hits, groups=documents)
    plain_low, plain_high = bootstrap_interval(hits)
    assert high - low == pytest.approx((plain_high - plain_low) * 10**0.5, rel=0.1)


def test_singleton_groups_equal_no_groups() -> None:
    hits = [1] * 150 + [0] * 50
    assert bootstrap_interval(hits, groups=range(200)) == pytest.approx(bootstrap_interval(hits), abs=0.011)


def test_groups_are_weighted_by_size() -> None:
    low, high = bootstrap_interval([1] * 99 + [0], groups=["a"] * 99 + ["b"])
    assert (low, high) == (0.0, 1.0)  # four equally likely draws: a+a, a+b, b+a, b+b
    assert paired_bootstrap([1] * 99 + [0], [0] * 99 + [0], groups=["a"] * 99 + ["b"]).difference == 0.99


def test_many_documents_are_drawn_in_blocks() -> None:
    rng = np.random.default_rng(0)
    documents = rng.integers(0, 4_000, 20_000)
    hits = rng.integers(0, 2, 20_000)
    started = time.perf_counter()
    low, high = bootstrap_interval(hits, groups=documents.tolist(), replicates=2_000)
    assert 0.48 < low < high < 0.52
    assert time.perf_counter() - started < 10


@given(PAIRS)
def test_paired_bootstrap_is_antisymmetric(pairs: list[tuple[int, int]]) -> None:
    a, b = [list(side) for side in zip(*pairs, strict=True)]
    one, other = paired_bootstrap(a, b, replicates=200), paired_bootstrap(b, a, replicates=200)
    assert one.difference == -other.difference
    assert one.low <= one.difference <= one.high
    assert 0 < one.p_value <= 1


def test_paired_bootstrap_matches_plain_resampling() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    rows = rng.integers(0, 300, (20_000, 300))
    drawn = a[rows].mean(axis=1) - b[rows].mean(axis=1)
    result = paired_bootstrap(a, b)
    assert result.low == pytest.approx(np.quantile(drawn, 0.025), abs=0.006)
    assert result.high == pytest.approx(np.quantile(drawn, 0.975), abs=0.006)


def test_identical_systems_do_not_differ() -> None:
    hits = [1, 0, 1, 1]
    result = paired_bootstrap(hits, hits)
    assert (result.difference, result.low, result.high, result.p_value) == (0.0, 0.0, 0.0, 1.0)
    assert mcnemar_exact(hits, hits).p_value == 1.0
    assert angel_t_test(hits, hits).p_value == 1.0


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 1), (1, 1), (0, 6), (1, 6), (10, 25), (48, 73), (300, 411), (1, 1500)])
def test_mcnemar_matches_scipy(only_a: int, only_b: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    a = [1] * only_a + [0] * only_b + [1, 0]
    b = [0] * only_a + [1] * only_b + [1, 0]
    result = mcnemar_exact(a, b)
    assert (result.only_a, result.only_b) == (only_a, only_b)
    assert result.p_value == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-9)
    assert mcnemar_exact(b, a).p_value == result.p_value


def test_mcnemar_is_fast_for_many_cases() -> None:
    started = time.perf_counter()
    assert mcnemar_exact([1] * 20_000 + [0] * 20_400, [0] * 20_000 + [1] * 20_400).p_value == pytest.approx(0.047, abs=0.001)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("t", [0.0, 0.3, -1.0, 2.5, 10.0, 25.0, 80.0])
@pytest.mark.parametrize("degrees", [1, 2, 10, 99, 999])
def test_t_distribution_matches_scipy(t: float, degrees: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert _t_test_p_value(t, degrees) == pytest.approx(2 * stats.t.sf(abs(t), degrees), rel=1e-9)


def test_t_test_is_significant_for_one_case_in_a_thousand() -> None:
    a, b = [1] * 900 + [0] * 100, [1] * 899 + [0] * 101
    result = angel_t_test(a, b)
    assert result.p_value < 1e-6
    assert mcnemar_exact(a, b).p_value == 1.0
    assert paired_bootstrap(a, b).p_value > 0.05
    assert result.warning == T_TEST_WARNING
    assert "any difference" in result.warning


def test_t_test_p_value_shrinks_with_replicates() -> None:
    a = [1] * 12 + [0] * 10 + [1] * 978
    b = [0] * 12 + [1] * 10 + [1] * 978
    assert mcnemar_exact(a, b).p_value > 0.8
    assert angel_t_test(a, b, replicates=10_000).p_value < 1e-12


def test_t_test_without_variance() -> None:
    assert angel_t_test([1, 1], [0, 0]).p_value == 0.0
    assert angel_t_test([0, 0], [1, 1]).t == float("-inf")


@pytest.mark.parametrize("hits", [[0, 2], [0.5], [[1, 0], [0, 1]], ["1"]])
def test_rejects_values_other_than_0_and_1(hits: list[int]) -> None:
    with pytest.raises(ConfigError) as caught:
        bootstrap_interval(hits)
    assert caught.value.code == "hits-invalid"


def test_rejects_mismatched_inputs() -> None:
    for wrong in (
        lambda: paired_bootstrap([1], [1, 0]),
        lambda: bootstrap_interval([1, 0], groups=["a"]),
        lambda: bootstrap_interval([1, 0], level=1.0),
        lambda: bootstrap_interval([1, 0], replicates=1),
    ):
        with pytest.raises(ConfigError, match="hits-invalid"):
            wrong()


def test_paired_bootstrap_draws_same_documents_for_both() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, (40, 2)).astype(float)
    same = bootstrap_paired_sums(counts, counts, lambda sums: sums[:, 0] / sums[:, 1])
    assert (same.difference, same.low, same.high, same.p_value) == (0.0, 0.0, 0.0, 1.0)
    better = bootstrap_paired_sums(counts * [2, 1], counts, lambda sums: sums[:, 0] / sums[:, 1])
    assert better.low > 0
    assert better.p_value == 2 / 10_001
    nothing = np.zeros((0, 2))
    assert bootstrap_paired_sums(nothing, nothing, lambda sums: sums[:, 0]) == PairedBootstrap(0.0, -1.0, 1.0, 1.0)
    with pytest.raises(ConfigError, match="hits-invalid"):
        bootstrap_paired_sums(counts, counts[1:], lambda sums: sums[:, 0])


def test_t_quantiles_agree_with_tables() -> None:
    degrees = [1, 2, 3.7, 10, 29.5, 1_000]
    assert t_quantiles(degrees).tolist() == pytest.approx(
        [12.70620474, 4.30265273, 2.86752071, 2.22813885, 2.04372497, 1.96233908]
    )
    assert t_quantiles(10, level=0.99) == pytest.approx(3.16927267)
    assert t_quantiles(0.2) == t_quantiles(1)
    assert t_quantiles(1e12) == pytest.approx(1.959964, abs=3e-4)
