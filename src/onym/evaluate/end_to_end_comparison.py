"""Compare the F1 of two end-to-end systems, with a paired bootstrap over documents."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from onym.evaluate.coverage import Coverage
from onym.evaluate.end_to_end import EndToEndEvaluation, shares_of_counts
from onym.evaluate.evaluation import require_comparable
from onym.evaluate.significance import PairedBootstrap, bootstrap_paired_sums


@dataclass(frozen=True, slots=True)
class EndToEndComparison:
    """The difference in F1 between two systems. `shares` maps precision, recall and F1 to a pair of values (first, second).

    `types` are the annotated types that are scored; empty means all. `by_type` holds the number of gold items and both recalls
    of each type. `coverage` holds the document coverage of both systems.
    """

    protocol: str
    documents: int
    types: tuple[str, ...]
    shares: dict[str, tuple[float, float]]
    coverage: tuple[Coverage, Coverage]
    bootstrap: PairedBootstrap
    by_type: dict[str, tuple[int, float, float]]

    @property
    def first(self) -> float:
        """F1 of the first system."""
        return self.shares["F1"][0]

    @property
    def second(self) -> float:
        """F1 of the second system."""
        return self.shares["F1"][1]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; `first` and `second` are the F1 scores."""
        own = {"measure": "f1", "first": self.first, "second": self.second}
        shares = {name.lower(): list(both) for name, both in self.shares.items()}
        return asdict(self) | own | {"shares": shares, "coverage": [each.as_dict() for each in self.coverage]}


def compare_end_to_end(first: EndToEndEvaluation, second: EndToEndEvaluation) -> EndToEndComparison:
    """Compare two evaluations; raise ConfigError unless split, protocol and types are the same."""
    require_comparable(first, second)
    one, other = (each.results[each.protocol] for each in (first, second))
    recalls = {score.type: score.recall for score in second.by_type}
    return EndToEndComparison(
        protocol=first.protocol,
        documents=first.documents,
        types=tuple(first.manifest["types_scored"]),
        shares={name: (share, other.shares[name][0]) for name, (share, _) in one.shares.items()},
        coverage=(first.coverage, second.coverage),
        bootstrap=bootstrap_paired_sums(one.counts, other.counts, lambda sums: shares_of_counts(sums)[2]),
        by_type={each.type: (each.gold, each.recall, recalls[each.type]) for each in first.by_type},
    )
