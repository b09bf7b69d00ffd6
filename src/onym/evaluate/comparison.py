"""Two systems on the same cases: the difference, its confidence interval, and significance tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from onym.errors import ConfigError
from onym.evaluate.coverage import Coverage
from onym.evaluate.evaluation import Evaluation, document_groups
from onym.evaluate.significance import AngelTTest, McNemar, PairedBootstrap, angel_t_test, mcnemar_exact, paired_bootstrap


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better the first system is than the second, by one protocol; slices are pairs of recall@1.

    `coverage` says for both how many of the mentions have a prediction.
    """

    protocol: str
    cases: int
    first: float
    second: float
    coverage: tuple[Coverage, Coverage]
    bootstrap: PairedBootstrap
    mcnemar: McNemar
    slices: dict[str, tuple[int, float, float]]
    t_test: AngelTTest | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"coverage": [each.as_dict() for each in self.coverage]}


def compare(first: Evaluation, second: Evaluation, *, with_t_test: bool = False) -> Comparison:
    """Compare two evaluations of the same split by the same protocol; anything else is refused."""
    _require_comparable(first, second)
    one, other = hits(first.gold_ranks), hits(second.gold_ranks)
    named = {part.name: part for part in second.slices}
    return Comparison(
        protocol=first.protocol,
        cases=len(one),
        first=sum(one) / max(len(one), 1),
        second=sum(other) / max(len(other), 1),
        coverage=(first.coverage, second.coverage),
        bootstrap=paired_bootstrap(one, other, groups=document_groups(first.cases)),
        mcnemar=mcnemar_exact(one, other),
        slices={p.name: (p.cases, p.recall, named[p.name].recall) for p in first.slices if p.name in named},
        t_test=angel_t_test(one, other) if with_t_test else None,
    )


def hits(ranks: Sequence[int | None]) -> list[bool]:
    """Return which cases have the gold concept at rank 1.

    >>> hits([1, 2, None])
    [True, False, False]
    """
    return [rank == 1 for rank in ranks]


def _require_comparable(first: Evaluation, second: Evaluation) -> None:
    for what, one, other in (
        ("protocols", first.protocol, second.protocol),
        ("datasets", first.manifest["dataset"], second.manifest["dataset"]),
    ):
        if one != other:
            raise ConfigError("compare-other", f"the two are of different {what}", fix="evaluate both in the same way")
