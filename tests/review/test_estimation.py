"""Estimates of audits against closed forms, all samples of small populations, and other software."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError
from onym.evaluate.significance import t_quantiles
from onym.review.estimation import Estimates, Frame, LabelSums, estimate_precision, estimate_recall
from onym.review.sampling import Floats, Strata, Z, labels_at_random

RIGHT = np.array([1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1], dtype=float)
LIKELY = np.array([0.3, 0.2, 0.7, 0.5, 0.4, 0.95, 0.9, 0.8, 0.99, 0.85, 0.97])
SMALL = Strata(np.array([0] * 5 + [1] * 6), LIKELY, ("a", "a"))


def _estimate(strata: Strata, right: Floats, rows: list[int], **options: float) -> Estimates:
    sums = LabelSums.of(strata, np.array(rows), right[rows])
    return estimate_precision(Frame.of(strata), sums, **options)


def _all_samples(strata: Strata, *sizes: int) -> list[list[int]]:
    """Return the rows of all stratified samples of these sizes."""
    of_strata = [np.flatnonzero(strata.stratum == number).tolist() for number in range(len(sizes))]
    parts = [combinations(rows, size) for rows, size in zip(of_strata, sizes, strict=True)]
    return [[row for part in sample for row in part] for sample in product(*parts)]


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_all_samples_of_a_small_population(weight: float) -> None:
    found = [_estimate(SMALL, RIGHT, rows, weight=weight, prior_labels=0.0) for rows in _all_samples(SMALL, 2, 3)]
    values = np.array([float(each.value) for each in found])
    assert values.mean() == pytest.approx(RIGHT.mean(), abs=1e-12)
    assert np.mean([float(each.variance) for each in found]) == pytest.approx(values.var(), abs=1e-12)


def test_closed_form_of_a_stratified_mean() -> None:
    rows = [0, 1, 3, 5, 7, 9, 10]
    found = _estimate(SMALL, RIGHT, rows, weight=0.0, prior_labels=0.0)
    one, other = RIGHT[[0, 1, 3]], RIGHT[[5, 7, 9, 10]]
    value = 5 / 11 * one.mean() + 6 / 11 * other.mean()
    parts = ((5 / 11) ** 2 * (1 - 3 / 5) * one.var(ddof=1) / 3, (6 / 11) ** 2 * (1 - 4 / 6) * other.var(ddof=1) / 4)
    degrees = sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 3)
    margin = float(t_quantiles(degrees)) * sum(parts) ** 0.5
    assert float(found.value) == pytest.approx(value, abs=1e-12)
    assert float(found.low) == pytest.approx(max(value - margin, 0), abs=1e-12)
    assert float(found.high) == pytest.approx(min(value + margin, 1), abs=1e-12)


def test_one_stratum_is_a_random_sample() -> None:
    right = np.repeat([1.0, 0.0], [900, 100])
    strata = Strata(np.zeros(1_000, dtype=np.int64), np.full(1_000, 0.9), ("a",))
    count = labels_at_random(0.9, 1_000, 0.03)
    rows = np.linspace(0, 999, count).round().astype(int).tolist()
    found = _estimate(strata, right, rows, prior_labels=0.0)
    assert float(found.weight) == 0.0
    assert float(found.margin) == pytest.approx(0.03 * float(t_quantiles(count - 1)) / Z, rel=0.02)


def test_prediction_powered_inference_agrees() -> None:
    ppi = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(1)
    likely = rng.beta(4, 1, 800)
    right = (rng.random(800) < likely).astype(float)
    strata = Strata(np.zeros(800, dtype=np.int64), likely, ("a",))
    rows = rng.choice(800, 60, replace=False)
    own = _estimate(strata, right, rows.tolist(), weight=1.0, prior_labels=0.0)
    theirs = ppi.ppi_mean_pointestimate(right[rows], likely[rows], likely, lam=1)[0]
    assert float(own.value) == pytest.approx(theirs, abs=1e-9)
    low, high = ppi.ppi_mean_ci(right[rows], likely[rows], likely, alpha=0.05, lam=1)
    error = (high - low)[0] / 2 / Z  # of labels and of the mean probability, without finite-population correction
    of_labels = error**2 - likely.var() / 800
    assert float(own.variance) == pytest.approx(of_labels * 60 / 59 * (1 - 60 / 800), rel=1e-6)


@given(st.data())
def test_intervals_are_sound(data: st.DataObject) -> None:
    right = np.array(data.draw(st.lists(st.booleans(), min_size=11, max_size=11)), dtype=float)
    rows = data.draw(st.sampled_from(_all_samples(SMALL, 2, 2)))
    found = _estimate(SMALL, right, rows)
    assert 0 <= float(found.low) <= float(found.high) <= 1
    assert 0 <= float(found.weight) <= 1


def test_labels_that_are_all_right_leave_a_margin() -> None:
    found = _estimate(SMALL, np.ones(11), [0, 1, 5, 6], weight=0.0)
    assert float(found.value) == 1.0
    assert float(found.low) < 0.95


def test_a_full_count_has_no_margin() -> None:
    found = _estimate(SMALL, RIGHT, list(range(11)))
    assert float(found.low) == float(found.high) == pytest.approx(RIGHT.mean())


def test_many_audits_at_once() -> None:
    samples = _all_samples(SMALL, 2, 3)[:7]
    sums = [LabelSums.of(SMALL, np.array(rows), RIGHT[rows]) for rows in samples]
    together = LabelSums(*(np.stack([getattr(each, name) for each in sums]) for name in vars(sums[0])))
    found = estimate_precision(Frame.of(SMALL), together)
    for number, rows in enumerate(samples):
        one = _estimate(SMALL, RIGHT, rows)
        assert float(found.low[number]) == pytest.approx(float(one.low), abs=1e-12)


def test_strata_without_labels_are_an_error() -> None:
    with pytest.raises(InputError, match="audit-incomplete"):
        _estimate(SMALL, RIGHT, [0, 1])


FOUND = np.array([8.0, 9.0, 5.0, 10.0, 3.0, 0.0])
GOLD = np.array([10.0, 10.0, 9.0, 10.0, 4.0, 0.0])


def test_recall_is_the_ratio_over_all_documents() -> None:
    found = estimate_recall(FOUND, GOLD, documents=6)
    assert float(found.value) == float(found.low) == pytest.approx(float(found.high)) == pytest.approx(35 / 43)


def test_variance_of_recall_is_that_of_documents_left_out() -> None:
    found = estimate_recall(FOUND, GOLD, documents=60)
    others = np.array([(35 - FOUND[row]) / (43 - GOLD[row]) for row in range(6)])
    assert float(found.variance) == pytest.approx(0.9 * ((others - 35 / 43) ** 2).sum(), abs=1e-12)
    assert float(found.degrees) == pytest.approx(43**2 / (GOLD**2).sum() - 1)


def test_interval_of_recall_is_symmetric_in_log_odds() -> None:
    found = estimate_recall(FOUND, GOLD, documents=60)
    low, value, high = (float(np.log(each / (1 - each))) for each in (found.low, found.value, found.high))
    assert value - low == pytest.approx(high - value)


def test_recall_at_the_ends() -> None:
    nothing_missed = estimate_recall(GOLD, GOLD, documents=60)
    assert (float(nothing_missed.value), float(nothing_missed.high)) == (1.0, 1.0)
    assert float(nothing_missed.low) == pytest.approx(0.025 ** (1 / 5))
    all_missed = estimate_recall(GOLD * 0, GOLD, documents=60)
    assert float(all_missed.low) == 0.0
    assert float(all_missed.high) == pytest.approx(1 - 0.025 ** (1 / 5))
    assert float(estimate_recall(GOLD, GOLD, documents=6).low) == 1.0


def test_too_few_documents_are_an_error() -> None:
    with pytest.raises(InputError, match="documents"):
        estimate_recall(np.array([1.0]), np.array([1.0]), documents=5)
    with pytest.raises(InputError, match="audit-incomplete"):
        estimate_recall(np.zeros(3), np.zeros(3), documents=5)
