"""Confidence intervals and significance tests, computed from hits: whether each case was right (1) or wrong (0).

`bootstrap_interval` gives the confidence interval of a share. `paired_bootstrap` and `mcnemar_exact` test whether two systems
differ on the same cases; `bootstrap_paired_sums` tests whether their F1 differs on the same documents. `angel_t_test`
reproduces a published test that is statistically invalid; use it for comparison only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError

Hits = Sequence[int] | Sequence[bool] | npt.NDArray[Any]
"""1 or True for each case that was right, 0 or False for each that was wrong."""
_Floats = npt.NDArray[np.float64]
_Counts = npt.NDArray[np.int64]

T_TEST_WARNING = (
    "This test treats bootstrap replicates as independent measurements: the more replicates, the smaller p. "
    "With enough of them any difference becomes significant. Use mcnemar_exact."
)
_NEWTON_STEPS = 100
_BLOCK = 16_000_000  # maximum number of random array elements to draw at a time


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """The difference between systems `a` and `b`, its confidence interval, and the two-sided p-value."""

    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, slots=True)
class McNemar:
    """The numbers of cases that only `a` or only `b` has right, and the two-sided p-value."""

    only_a: int
    only_b: int
    p_value: float


@dataclass(frozen=True, slots=True)
class AngelTTest:
    """The t-test of the ANGEL paper (section 4), as published; statistically invalid, for comparison only."""

    difference: float
    t: float
    p_value: float
    replicates: int
    warning: str = T_TEST_WARNING


def bootstrap_interval(
    hits: Hits, *, groups: Sequence[Any] | None = None, replicates: int = 10_000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile-bootstrap interval of the share of hits.

    `groups` holds a group per case, e.g. its document id; whole groups are then resampled, because mentions of one document are
    not independent. Without cases the interval is (0, 1). If all cases are right, or all wrong, its width is 0, even for very
    few cases.

    >>> bootstrap_interval([1] * 80 + [0] * 20)
    (0.72, 0.88)
    """
    right = _check_hits(hits)
    rng = _generator(replicates, level, seed)
    if not len(right):
        return 0.0, 1.0
    if groups is None:  # the sum of n resampled zeros and ones is binomial
        shares = rng.binomial(len(right), right.mean(), replicates) / len(right)
    else:
        shares = _draw_groups(right, groups, replicates, rng)
    return percentiles(shares, level)


def paired_bootstrap(
    a: Hits,
    b: Hits,
    *,
    groups: Sequence[Any] | None = None,
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> PairedBootstrap:
    """Compare two systems on the same cases with a paired bootstrap over cases, or over `groups` of cases.

    The p-value is twice the share of replicates whose difference has the opposite sign, at least 2 / (replicates + 1).

    >>> result = paired_bootstrap([1] * 90 + [0] * 10, [1] * 70 + [0] * 30)
    >>> round(result.difference, 2), result.p_value < 0.001
    (0.2, True)
    """
    gain = _gain(a, b)
    rng = _generator(replicates, level, seed)
    if not len(gain):
        return PairedBootstrap(0.0, -1.0, 1.0, 1.0)
    drawn = _draw_gains(gain, replicates, rng) if groups is None else _draw_groups(gain, groups, replicates, rng)
    return _test_replicates(float(gain.mean()), drawn, level)


def bootstrap_paired_sums(
    a: _Floats,
    b: _Floats,
    measure: Callable[[_Floats], _Floats],
    *,
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> PairedBootstrap:
    """Compare two systems by a measure of summed counts, such as F1, with a paired bootstrap over documents.

    Row i of `a` and of `b` holds the counts of document i. `measure` maps summed counts (replicates, columns) to (replicates,).

    >>> counts = np.array([[1.0, 2.0], [2.0, 2.0]])  # right, predicted
    >>> result = bootstrap_paired_sums(counts, counts * [0, 1], lambda sums: sums[:, 0] / sums[:, 1])
    >>> result.difference, result.low, result.high
    (0.75, 0.5, 1.0)
    """
    _require_alike(len(a), len(b))
    rng = _generator(replicates, level, seed)
    if not len(a):
        return PairedBootstrap(0.0, -1.0, 1.0, 1.0)

    def gains(sums: _Floats) -> _Floats:
        return measure(sums[:, : a.shape[1]]) - measure(sums[:, a.shape[1] :])

    both = np.hstack((a, b))
    return _test_replicates(float(gains(both.sum(axis=0, keepdims=True))[0]), gains(draw_sums(both, replicates, rng)), level)


def mcnemar_exact(a: Hits, b: Hits) -> McNemar:
    """Compare two systems on the same cases with the exact (binomial) two-sided McNemar test.

    Only cases that exactly one system has right are used; under the null hypothesis, both systems are equally likely to be
    that system.

    >>> mcnemar_exact([1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1])
    McNemar(only_a=6, only_b=1, p_value=0.125)
    """
    gain = _gain(a, b)
    only_a, only_b = int((gain > 0).sum()), int((gain < 0).sum())
    return McNemar(only_a, only_b, _binomial_p_value(only_a, only_b))


def angel_t_test(a: Hits, b: Hits, *, replicates: int = 100, seed: int = 0) -> AngelTTest:
    """Reproduce ANGEL's test: a paired t-test over bootstrap replicates. Statistically invalid, see `T_TEST_WARNING`.

    >>> ahead_by_one = angel_t_test([1] * 1000, [1] * 999 + [0])
    >>> ahead_by_one.p_value < 0.001, mcnemar_exact([1] * 1000, [1] * 999 + [0]).p_value
    (True, 1.0)
    """
    gain = _gain(a, b)
    rng = _generator(replicates, 0.95, seed)
    if not gain.any():
        return AngelTTest(0.0, 0.0, 1.0, replicates)
    drawn = _draw_gains(gain, replicates, rng)
    error = float(drawn.std(ddof=1)) / math.sqrt(replicates)
    mean = float(drawn.mean())
    t = mean / error if error else math.copysign(math.inf, mean)
    return AngelTTest(float(gain.mean()), t, _t_test_p_value(t, replicates - 1), replicates)


def _check_hits(hits: Hits) -> _Counts:
    array = np.asarray(hits)
    if array.ndim != 1 or (len(array) and not np.isin(array, (0, 1)).all()):
        fix = "pass 1 for each right case and 0 for each wrong one"
        raise ConfigError("hits-invalid", "hits must be a 1-d sequence of 0 and 1", fix=fix)
    return array.astype(np.int64)


def _gain(a: Hits, b: Hits) -> _Counts:
    """Return for each case 1 if only `a` is right, -1 if only `b` is right, else 0."""
    one, other = _check_hits(a), _check_hits(b)
    _require_alike(len(one), len(other))
    return one - other


def _require_alike(one: int, other: int) -> None:
    if one != other:
        raise ConfigError(
            "hits-invalid", f"{one:,} cases cannot be compared with {other:,}", fix="pass the same cases for both"
        )


def _generator(replicates: int, level: float, seed: int) -> np.random.Generator:
    if replicates < 2 or not 0 < level < 1:
        what = f"cannot compute an interval from {replicates} replicates at level {level}"
        raise ConfigError("hits-invalid", what, fix="use at least 2 replicates and a level between 0 and 1")
    return np.random.default_rng(seed)


def _test_replicates(difference: float, drawn: _Floats, level: float) -> PairedBootstrap:
    """Return the interval of a difference, and its p-value: twice the share of replicates with the opposite sign."""
    tail = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return PairedBootstrap(difference, *percentiles(drawn, level), min(1.0, 2 * (tail + 1) / (len(drawn) + 1)))


def _draw_gains(gain: _Counts, replicates: int, rng: np.random.Generator) -> _Floats:
    """Return the mean gain of each replicate, drawn as multinomial counts of the values 1, -1 and 0."""
    kinds = np.array([(gain > 0).sum(), (gain < 0).sum(), (gain == 0).sum()]) / len(gain)
    counts = rng.multinomial(len(gain), kinds, size=replicates)  # shape (replicates, 3)
    return np.asarray((counts[:, 0] - counts[:, 1]) / len(gain), dtype=np.float64)


def _draw_groups(values: _Counts, groups: Sequence[Any], replicates: int, rng: np.random.Generator) -> _Floats:
    """Return the mean of each replicate, over all cases of the groups that the replicate drew."""
    _require_alike(len(values), len(groups))
    numbers: dict[Any, int] = {}
    group_of = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
    sums_and_sizes = (np.bincount(group_of, weights=values), np.bincount(group_of))
    rows = np.stack(sums_and_sizes, axis=1).astype(np.float64)  # shape (groups, 2)
    sums, sizes = draw_sums(rows, replicates, rng).T
    return np.asarray(sums / sizes, dtype=np.float64)


def draw_sums(rows: _Floats, replicates: int, rng: np.random.Generator) -> _Floats:
    """Return the sum of the rows that each replicate draws with replacement, as an array (replicates, columns)."""
    step = max(1, _BLOCK // max(rows.size, 1))
    blocks = (min(step, replicates - start) for start in range(0, replicates, step))
    return np.concatenate([rows[rng.integers(0, len(rows), (block, len(rows)))].sum(axis=1) for block in blocks])


def percentiles(drawn: _Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the central interval that contains the share `level` of the replicates."""
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _binomial_p_value(one: int, other: int) -> float:
    """Return the two-sided p-value of the exact binomial test of `one` against `other` at probability 1/2."""
    count, fewer = one + other, min(one, other)
    ways = total = 1
    for k in range(1, fewer + 1):
        ways = ways * (count - k + 1) // k
        total += ways
    return min(1.0, 2 * total / (1 << count))  # exact, because Python integers do not overflow


def _t_test_p_value(t: float, degrees: int) -> float:
    """Return the two-sided p-value of Student's t, as a ratio of integrals of sin(x)**(degrees - 1).

    The upper limit is atan(sqrt(degrees) / |t|). Integrating the small tail directly keeps p-values of 1e-50 accurate.
    """
    angle = math.atan2(math.sqrt(degrees), abs(t))
    tail, half = _sine_powers(np.array([angle, math.pi / 2]), np.full(2, degrees - 1.0))
    return min(1.0, float(tail / half))


def t_quantiles(degrees: npt.ArrayLike, level: float = 0.95) -> _Floats:
    """Return how many standard errors a central interval of Student's t extends to each side; `degrees` need not be integers.

    Degrees below 1 count as 1, and above 10,000 as 10,000: there the quantile is that of the normal distribution, to 3e-4.

    >>> t_quantiles([1, 10, 1e9]).round(3).tolist()
    [12.706, 2.228, 1.96]
    """
    known = np.clip(np.asarray(degrees, dtype=np.float64), 1.0, 1e4)
    wanted = (1 - level) * _sine_powers(np.full_like(known, math.pi / 2), known - 1)
    angle = np.full_like(known, math.pi / 2)
    for _ in range(_NEWTON_STEPS):  # the integral is convex, so that the steps from the right do not overshoot
        step = (_sine_powers(angle, known - 1) - wanted) / np.sin(angle) ** (known - 1)
        angle -= step
        if np.abs(step).max(initial=0) < 1e-12:
            break
    return np.asarray(np.sqrt(known) / np.tan(angle), dtype=np.float64)


def _sine_powers(angles: _Floats, powers: _Floats) -> _Floats:
    """Return the integrals of sin(x)**power from 0 to each angle, by Gauss-Legendre quadrature."""
    nodes, weights = _nodes()
    sines = np.sin(angles[..., None] / 2 * (nodes + 1)) ** powers[..., None]
    return np.asarray(angles / 2 * (sines @ weights), dtype=np.float64)


@cache
def _nodes() -> tuple[_Floats, _Floats]:
    """Return the nodes and weights of the quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    return nodes, weights
