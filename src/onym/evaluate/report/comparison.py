"""A comparison for the terminal: both systems, the significance of the difference, and the results by subgroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym.evaluate.comparison import Comparison
from onym.evaluate.coverage import Coverage
from onym.evaluate.report.tables import plain, table_of
from onym.evaluate.report.values import percent
from onym.evaluate.slices import SLICES

if TYPE_CHECKING:
    from rich.table import Table


def comparison_tables(found: Comparison, first: str, second: str) -> list[Table]:
    """Return the tables in order."""
    return [_difference(found, first, second), _slices(found, first, second)]


def _difference(found: Comparison, first: str, second: str) -> Table:
    bootstrap, mcnemar = found.bootstrap, found.mcnemar
    table = table_of(f"{first} against {second}, {found.protocol}, {found.cases:,} mentions", ("",), ("",))
    rows = [
        (f"{first}, recall@1", _recall(found.first, found.coverage[0])),
        (f"{second}, recall@1", _recall(found.second, found.coverage[1])),
        ("difference", f"{100 * bootstrap.difference:+.1f}"),
        ("95 % CI (paired bootstrap over documents)", f"{100 * bootstrap.low:+.1f} to {100 * bootstrap.high:+.1f}"),
        ("p (paired bootstrap over documents)", f"{bootstrap.p_value:.4f}"),
        (f"right only in {first}", f"{mcnemar.only_a:,}"),
        (f"right only in {second}", f"{mcnemar.only_b:,}"),
        ("p (McNemar, exact)", f"{mcnemar.p_value:.4g}"),
    ]
    if found.t_test:
        rows.append(("p (ANGEL's t-test, as published; statistically invalid)", f"{found.t_test.p_value:.4g}"))
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def _recall(share: float, coverage: Coverage) -> str:
    return f"{percent(share)} ({coverage.note})" if coverage.note else percent(share)


def _slices(found: Comparison, first: str, second: str) -> Table:
    table = table_of(f"Results by subgroup, recall@1, {found.protocol}", ("subgroup",), ("n", first, second, "difference"))
    for name, (cases, one, other) in found.slices.items():
        cells = (percent(one), percent(other), f"{100 * (one - other):+.1f}") if cases else ("–", "–", "–")
        table.add_row(*map(plain, (SLICES[name].title, f"{cases:,}", *cells)))
    return table
