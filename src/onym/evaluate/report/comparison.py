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
    table = table_of(f"{first} against {second}, {found.protocol}, {found.cases:,} mentions", ("",), ("",))
    for row in difference_rows(found, first, second):
        table.add_row(*map(plain, row))
    return table


def difference_rows(found: Comparison, first: str, second: str) -> list[tuple[str, str]]:
    """Return what is said of the difference: names and values."""
    bootstrap, mcnemar = found.bootstrap, found.mcnemar
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
    return rows


def _recall(share: float, coverage: Coverage) -> str:
    return f"{percent(share)} ({coverage.note})" if coverage.note else percent(share)


def _slices(found: Comparison, first: str, second: str) -> Table:
    table = table_of(f"Results by subgroup, recall@1, {found.protocol}", ("subgroup",), ("n", first, second, "difference"))
    for row in slice_rows(found):
        table.add_row(*map(plain, row))
    return table


def slice_rows(found: Comparison) -> list[tuple[str, ...]]:
    """Return a row for each subgroup: its title, its mentions, both recalls and their difference."""
    rows: list[tuple[str, ...]] = []
    for name, (cases, one, other) in found.slices.items():
        cells = (percent(one), percent(other), f"{100 * (one - other):+.1f}") if cases else ("–", "–", "–")
        rows.append((SLICES[name].title, f"{cases:,}", *cells))
    return rows
