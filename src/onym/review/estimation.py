"""Estimates of an audit: precision from a stratified sample of links, recall from documents that were read as a whole.

Precision is a stratified mean with the calibrated probability as control variate (prediction-powered inference): in each
stratum the mean probability of all links is known, and the labels correct it. The weight of the probability, between 0 and 1,
is the one with the least variance, the same for all strata (power tuning). With weight 1 the estimate is unbiased whatever the
probabilities are; with weight 0 it is the plain stratified mean.

The variance has the finite-population correction. The variance of a stratum is averaged with the planned one as if that had
`PRIOR_LABELS` labels, since a few labels that are all right would give none. The interval uses Student's t with Satterthwaite's
degrees of freedom.

Recall is a ratio: right links found in the documents over mentions in them. Its variance is that of whole documents, each left
out in turn, with finite-population correction. The interval is symmetric in log odds. Its degrees of freedom follow from the
effective number of documents, which is lower where few documents hold most mentions.

Functions take sums and counts with any leading axes, so that many audits can be estimated at once.

A. Angelopoulos et al., PPI++ (2023), arXiv 2311.01453; W. Cochran, Sampling Techniques (1977), chapters 5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onym.errors import InputError
from onym.evaluate.significance import t_quantiles
from onym.review.sampling import Floats, Rows, Strata

PRIOR_LABELS = 3.0
LEVEL = 0.95


@dataclass(frozen=True)
class LabelSums:
    """Labels of each stratum: their number, how many are right, and sums of probabilities; the last axis is the stratum.

    `expected` sums the probabilities, `squares` their squares, and `expected_right` the probabilities of right links.
    """

    labels: Floats
    right: Floats
    expected: Floats
    squares: Floats
    expected_right: Floats

    @classmethod
    def of(cls, strata: Strata, rows: Rows, right: Floats) -> LabelSums:
        """Sum the labels of links, given by their rows in the population; `right` is 1 for each right link, else 0."""
        stratum, likely = strata.stratum[rows], strata.probabilities[rows]
        weights = (np.ones_like(likely), right, likely, likely**2, likely * right)
        return cls(*(np.bincount(stratum, each, len(strata.types)).astype(np.float64) for each in weights))

    def part(self, strata: Rows) -> LabelSums:
        """Return the sums of some of the strata."""
        return LabelSums(*(each[..., strata] for each in vars(self).values()))


@dataclass(frozen=True)
class Frame:
    """What is known of strata before anything is labelled: sizes, mean probabilities and planned variances."""

    sizes: Floats
    means: Floats
    variances: Floats

    @classmethod
    def of(cls, strata: Strata) -> Frame:
        """Return the frame of a population of links."""
        return cls(strata.sizes, strata.means, strata.variances)

    def part(self, strata: Rows) -> Frame:
        """Return the frame of some of the strata."""
        return Frame(self.sizes[strata], self.means[strata], self.variances[strata])


@dataclass(frozen=True)
class Estimates:
    """Estimates with their 95 % intervals, variances, degrees of freedom, and the weight of the probabilities."""

    value: Floats
    low: Floats
    high: Floats
    variance: Floats
    degrees: Floats
    weight: Floats

    @property
    def margin(self) -> Floats:
        """Half the width of each interval."""
        return np.asarray((self.high - self.low) / 2, dtype=np.float64)


def estimate_precision(
    frame: Frame, sums: LabelSums, *, weight: float | None = None, prior_labels: float = PRIOR_LABELS
) -> Estimates:
    """Estimate the share of right links; with None as `weight`, the best weight is estimated too.

    With `prior_labels=0` and a fixed weight, the variance is the unbiased estimate of sampling theory.

    >>> frame = Frame(np.array([100.0]), np.array([0.9]), np.array([0.09]))
    >>> sums = LabelSums(*(np.array([each]) for each in (10.0, 8.0, 9.0, 8.1, 7.2)))
    >>> found = estimate_precision(frame, sums)
    >>> round(float(found.value), 3), float(found.weight)
    (0.8, 0.0)
    """
    if (sums.labels < 1).any():
        what = "some strata have no labels"
        raise InputError("audit-incomplete", what, fix="review the links that the audit drew, then run the report again")
    moments = _Moments.of(sums)
    shares = frame.sizes / frame.sizes.sum()
    factors = shares**2 * (1 - sums.labels / frame.sizes) / sums.labels
    own = _best_weight(factors, moments) if weight is None else np.full(moments.mean.shape[:-1], float(weight))
    by = own[..., None]
    values = (shares * (moments.mean + by * (frame.means - moments.likely))).sum(axis=-1)
    spread = np.maximum(moments.variance - 2 * by * moments.covariance + by**2 * moments.likely_variance, 0)
    free = np.maximum(sums.labels - 1, 0)
    spread = (free * spread + prior_labels * frame.variances) / np.maximum(free + prior_labels, 1)
    parts = factors * spread
    variance = parts.sum(axis=-1)
    degrees = variance**2 / np.maximum((parts**2 / np.maximum(free, 1)).sum(axis=-1), 1e-300)
    margin = t_quantiles(degrees, LEVEL) * np.sqrt(variance)
    return Estimates(values, np.maximum(values - margin, 0), np.minimum(values + margin, 1), variance, degrees, own)


@dataclass(frozen=True)
class _Moments:
    """Means, variances and covariance of label and probability in each stratum; 0 with a single label."""

    mean: Floats
    likely: Floats
    variance: Floats
    likely_variance: Floats
    covariance: Floats

    @classmethod
    def of(cls, sums: LabelSums) -> _Moments:
        count, free = sums.labels, np.maximum(sums.labels - 1, 1)
        mean, likely = sums.right / count, sums.expected / count
        return cls(
            mean,
            likely,
            (sums.right - count * mean**2) / free,
            (sums.squares - count * likely**2) / free,
            (sums.expected_right - count * mean * likely) / free,
        )


def _best_weight(factors: Floats, moments: _Moments) -> Floats:
    """Return the weight between 0 and 1 with the least estimated variance."""
    spread = (factors * moments.likely_variance).sum(axis=-1)
    shared = (factors * moments.covariance).sum(axis=-1)
    is_known = spread > 1e-15
    return np.clip(np.where(is_known, shared / np.where(is_known, spread, 1.0), 0.0), 0.0, 1.0)


def estimate_recall(found: Floats, gold: Floats, documents: int) -> Estimates:
    """Estimate recall from the right links and the mentions of each document that was read, the last axis.

    `documents` is the number of documents that they were drawn from. If nothing was missed, or everything, the other bound is
    the one at which that would have a probability of 2.5 % if documents were found or missed as a whole.

    >>> found = estimate_recall(np.array([8.0, 9.0, 5.0, 10.0]), np.array([10.0, 10.0, 10.0, 10.0]), documents=100)
    >>> round(float(found.value), 3), round(float(found.low), 2), round(float(found.high), 2)
    (0.8, 0.26, 0.98)
    """
    count, total = found.shape[-1], gold.sum(axis=-1)
    if count < 2 or (total <= 0).any():
        what = "fewer than two documents were read, or they have no mentions"
        raise InputError("audit-incomplete", what, fix="read the documents that the audit drew, then run the report again")
    value = found.sum(axis=-1) / total
    weights = gold / total[..., None]
    rest = np.where(weights < 1, 1 - weights, 1.0)
    gaps = (found - value[..., None] * gold) / total[..., None] / rest
    variance = (1 - count / documents) * (gaps**2).sum(axis=-1)
    degrees = np.maximum(1 / (weights**2).sum(axis=-1) - 1, 1)
    margin = t_quantiles(degrees, LEVEL) * np.sqrt(variance)
    low, high = _log_odds_interval(value, margin, _extreme_bound(gold, documents))
    return Estimates(value, low, high, variance, degrees, np.zeros_like(value))


def _extreme_bound(gold: Floats, documents: int) -> Floats:
    """Return the lowest share that is plausible if no document missed a mention; 1 if all documents were read."""
    count = gold.shape[-1]
    if count >= documents:
        return np.ones(gold.shape[:-1])
    return np.asarray(((1 - LEVEL) / 2) ** (1 / np.maximum((gold > 0).sum(axis=-1), 1)), dtype=np.float64)


def _log_odds_interval(value: Floats, margin: Floats, extreme: Floats) -> tuple[Floats, Floats]:
    """Return the interval that is symmetric in log odds; `extreme` is its inner bound at 0 and 1."""
    is_inside = (value > 0) & (value < 1)
    inner = np.where(is_inside, value, 0.5)
    odds, width = np.log(inner / (1 - inner)), np.minimum(margin / (inner * (1 - inner)), 500)
    low, high = (1 / (1 + np.exp(-(odds + sign * width))) for sign in (-1, 1))
    return np.where(is_inside, low, np.where(value > 0, extreme, 0.0)), np.where(
        is_inside, high, np.where(value > 0, 1.0, 1 - extreme)
    )
