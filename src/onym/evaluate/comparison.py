"""Two systems on the same cases: how far apart they are, and whether chance may have parted them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from onym.errors import ConfigError
from onym.evaluate.evaluation import Evaluation, origin
from onym.evaluate.significance import AngelTTest, McNemar, PairedBootstrap, angel_t_test, mcnemar_exact, paired_bootstrap


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better the first system is than the second, by one protocol; slices are pairs of recall@1."""

    protocol: str
    cases: int
    first: float
    second: float
    bootstrap: PairedBootstrap
    mcnemar: McNemar
    slices: dict[str, tuple[int, float, float]]
    t_test: AngelTTest | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def compare(first: Evaluation, second: Evaluation, *, with_t_test: bool = False) -> Comparison:
    """Compare two evaluations of one split by one protocol; anything else is refused, for it would mean nothing."""
    _require_comparable(first, second)
    one, other = hits(first.places), hits(second.places)
    named = {part.name: part for part in second.slices}
    return Comparison(
        protocol=first.protocol,
        cases=len(one),
        first=sum(one) / max(len(one), 1),
        second=sum(other) / max(len(other), 1),
        bootstrap=paired_bootstrap(one, other, groups=[origin(case) for case in first.cases]),
        mcnemar=mcnemar_exact(one, other),
        slices={p.name: (p.cases, p.recall, named[p.name].recall) for p in first.slices if p.name in named},
        t_test=angel_t_test(one, other) if with_t_test else None,
    )


def hits(places: Sequence[int | None]) -> list[bool]:
    """Return which cases are right at once.

    >>> hits([1, 2, None])
    [True, False, False]
    """
    return [place == 1 for place in places]


def _require_comparable(first: Evaluation, second: Evaluation) -> None:
    for what, one, other in (
        ("protocols", first.protocol, second.protocol),
        ("benchmarks", first.manifest["benchmark"], second.manifest["benchmark"]),
    ):
        if one != other:
            raise ConfigError("compare-other", f"the two are of different {what}", fix="evaluate both in the same way")
