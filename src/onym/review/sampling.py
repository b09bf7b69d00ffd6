"""Samples of links and documents for an audit: strata by type and confidence, labels by Neyman allocation.

A link that is wrong with probability p has the variance p(1 - p). Links are sorted into strata by type, and within a type by
confidence, so that strata have equal sums of standard deviations. A stratum gets labels in proportion to that sum (Neyman
allocation), and `MIN_LABELS` at least, since a calibration hides its errors where it says 1.0. For the same reason no planned
probability is above 1 - `FLOOR`. Types and strata with few links are merged with others.

Recall needs documents that are read as a whole. Their number is planned for a recall of `EXPECTED_RECALL`, with a variance
`CLUSTERING` times that of single mentions, because the mentions of a document are found or missed together.

The constants were chosen on dev splits of BC5CDR, NCBI disease and BioRED.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError
from onym.evaluate.significance import t_quantiles

FLOOR = 0.05
"""The lowest planned probability that a link is wrong, and that it is right."""
MIN_LABELS = 5
STRATA_PER_TYPE = 5
MIN_LINKS, MIN_LINKS_OF_TYPE = 40, 100
"""The fewest links of a stratum, and of a type with strata of its own."""
OTHER_TYPES = "other"
EXPECTED_RECALL, CLUSTERING, MIN_DOCUMENTS = 0.75, 4.0, 10
UNKNOWN = 0.5
"""The planned probability that a link without confidence is right."""
Z = 1.959964
_STEPS = 60  # bisections of an allocation

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stratum:
    """The links of a type whose confidences are between `low` and `high`; both None if the links have no confidence."""

    type: str
    low: float | None
    high: float | None
    links: int
    labels: int


@dataclass(frozen=True)
class Strata:
    """A population of links in strata: its `stratum`, confidence and planned probability by link, its type by stratum."""

    stratum: Rows
    confidences: Floats
    types: tuple[str, ...]

    @cached_property
    def sizes(self) -> Floats:
        """The number of links of each stratum."""
        return np.bincount(self.stratum, minlength=len(self.types)).astype(np.float64)

    @cached_property
    def probabilities(self) -> Floats:
        """The confidence of each link, `UNKNOWN` if it has none."""
        return np.where(np.isnan(self.confidences), UNKNOWN, self.confidences)

    @cached_property
    def means(self) -> Floats:
        """The mean probability of each stratum."""
        return np.bincount(self.stratum, self.probabilities, len(self.types)) / self.sizes

    @cached_property
    def variances(self) -> Floats:
        """The planned variance of each stratum: the mean of p(1 - p)."""
        return np.bincount(self.stratum, _deviations(self.confidences) ** 2, len(self.types)) / self.sizes

    def describe(self, labels: Rows) -> list[Stratum]:
        """Return the strata with their numbers of labels."""
        found = []
        for number, kind in enumerate(self.types):
            own = self.confidences[self.stratum == number]
            low, high = (None, None) if np.isnan(own).all() else (float(np.nanmin(own)), float(np.nanmax(own)))
            found.append(Stratum(kind, low, high, len(own), int(labels[number])))
        return found


def stratify(confidences: npt.ArrayLike, types: Sequence[str]) -> Strata:
    """Sort links into strata by type and confidence; NaN stands for a link without confidence.

    >>> strata = stratify(np.linspace(0.5, 1, 400), ["Disease"] * 390 + ["Gene"] * 10)
    >>> strata.types, strata.sizes.astype(int).tolist()
    (('Disease', 'Disease', 'Disease', 'Disease', 'Disease'), [64, 66, 70, 81, 119])
    """
    values, merged = np.asarray(confidences, dtype=np.float64), _merge_types(types)
    if not len(values):
        raise ConfigError("audit-plan", "there are no links to audit", fix="use predictions with linked mentions")
    stratum, of = np.zeros(len(values), dtype=np.int64), list[str]()
    for kind in sorted(set(merged.tolist())):
        rows = np.flatnonzero(merged == kind)
        own = _split(values[rows])
        stratum[rows] = own + len(of)
        of += [kind] * (int(own.max()) + 1)
    return Strata(stratum, values, tuple(of))


def _merge_types(types: Sequence[str]) -> npt.NDArray[np.object_]:
    """Merge types with few links into `OTHER_TYPES`, and these into the largest type if they are too few for a stratum."""
    found = np.array(types, dtype=object)
    names, counts = np.unique(found.astype(str), return_counts=True)
    if len(names) == 1:
        return found
    found[np.isin(found, names[counts < MIN_LINKS_OF_TYPE])] = OTHER_TYPES
    if 0 < (found == OTHER_TYPES).sum() < min(MIN_LINKS, len(found)):
        found[found == OTHER_TYPES] = names[np.argmax(counts)]
    return found


def _split(confidences: Floats) -> Rows:
    """Return the stratum of each link of one type; links without confidence are a stratum of their own."""
    is_known = ~np.isnan(confidences)
    stratum = np.zeros(len(confidences), dtype=np.int64)
    known = confidences[is_known]
    if len(known):
        order = np.argsort(known, kind="stable")
        shares = np.cumsum(_deviations(known)[order])
        cuts = np.searchsorted(shares, shares[-1] * np.arange(1, STRATA_PER_TYPE) / STRATA_PER_TYPE)
        stratum[is_known] = 1 + np.searchsorted(np.unique(known[order][cuts]), known, side="right")
    return _collapse(np.unique(stratum, return_inverse=True)[1].astype(np.int64))


def _collapse(stratum: Rows) -> Rows:
    """Merge strata with few links with the smaller neighbour."""
    counts = np.bincount(stratum)
    while len(counts) > 1 and counts.min() < MIN_LINKS:
        small = int(counts.argmin())
        neighbours = [number for number in (small - 1, small + 1) if 0 <= number < len(counts)]
        stratum = np.where(stratum == small, min(neighbours, key=lambda number: counts[number]), stratum)
        stratum = np.unique(stratum, return_inverse=True)[1].astype(np.int64)
        counts = np.bincount(stratum)
    return stratum


def _deviations(confidences: Floats) -> Floats:
    """Return the planned standard deviation of the label of each link."""
    likely = np.clip(np.where(np.isnan(confidences), UNKNOWN, confidences), FLOOR, 1 - FLOOR)
    return np.asarray(np.sqrt(likely * (1 - likely)), dtype=np.float64)


def allocate(strata: Strata, margin: float) -> Rows:
    """Return the number of labels of each stratum for a 95 % interval with this half width (Neyman allocation).

    >>> strata = stratify(np.full(1000, 0.8), ["Disease"] * 1000)
    >>> allocate(strata, 0.03).tolist(), labels_at_random(0.8, 1000, 0.03)
    ([406], 407)
    """
    if not 0 < margin < 0.5:
        raise ConfigError("audit-plan", "the margin is not between 0 and 0.5", fix="use a margin such as 0.03")
    low, high = 0.0, float(strata.sizes.max())
    for _ in range(_STEPS):
        scale = (low + high) / 2
        is_enough = margin_of(strata, _share(strata, scale)) <= margin
        low, high = (low, scale) if is_enough else (scale, high)
    return _share(strata, high)


def _share(strata: Strata, scale: float) -> Rows:
    wanted = np.ceil(scale * strata.sizes * np.sqrt(strata.variances))
    return np.minimum(np.maximum(wanted, MIN_LABELS), strata.sizes).astype(np.int64)


def margin_of(strata: Strata, labels: Rows) -> float:
    """Return the half width of the 95 % interval of precision that is expected with these numbers of labels."""
    shares = strata.sizes / strata.sizes.sum()
    return Z * math.sqrt(float((shares**2 * (1 - labels / strata.sizes) * strata.variances / labels).sum()))


def draw_links(strata: Strata, labels: Rows, rng: np.random.Generator) -> Rows:
    """Draw links at random from each stratum, without replacement; return their rows, sorted."""
    drawn = [
        rng.choice(np.flatnonzero(strata.stratum == number), int(count), replace=False) for number, count in enumerate(labels)
    ]
    return np.sort(np.concatenate(drawn))


def labels_at_random(precision: float, links: int, margin: float) -> int:
    """Return how many labels a simple random sample needs for this margin, with finite-population correction.

    >>> labels_at_random(0.9, 10_000, 0.03), labels_at_random(0.9, 500, 0.03)
    (370, 218)
    """
    variance = precision * (1 - precision) * links / max(links - 1, 1)
    return min(links, math.ceil(variance * Z**2 / (margin**2 + variance * Z**2 / links)))


def documents_to_read(documents: int, mentions: float, margin: float) -> int:
    """Return how many documents must be read for this margin of recall; `mentions` is the expected number of mentions in all.

    >>> documents_to_read(500, 9_000, 0.05)
    59
    """
    if not 0 < margin < 0.5:
        raise ConfigError("audit-plan", "the margin is not between 0 and 0.5", fix="use a margin such as 0.05")
    if not documents or mentions <= 0:
        return documents
    spread = CLUSTERING * EXPECTED_RECALL * (1 - EXPECTED_RECALL) / (mentions / documents)
    low, high = min(MIN_DOCUMENTS, documents), documents
    while low < high:
        count = (low + high) // 2
        width = float(t_quantiles(count - 1.0)) * math.sqrt(spread / count * (1 - count / documents))
        low, high = (low, count) if width <= margin else (count + 1, high)
    return low
