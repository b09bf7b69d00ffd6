"""Tests of the terminal tables of a comparison."""

from __future__ import annotations

import io

from rich.console import Console

from onym.evaluate.coverage import Coverage
from onym.evaluate.evaluation import Comparison
from onym.evaluate.significance import angel_t_test, mcnemar_exact, paired_bootstrap
from onym.evaluate.tables import comparison_tables


def print_tables(*, with_t_test: bool, covered: int = 10) -> str:
    one, other = [1] * 8 + [0] * 2, [1] * 5 + [0] * 5
    coverage = (Coverage("mentions", 10, 10), Coverage("mentions", 10, covered))
    found = Comparison(
        "strict", 10, 0.8, 0.5, coverage, paired_bootstrap(one, other), mcnemar_exact(one, other),
        {"overall": (10, 0.8, 0.5), "composites": (0, 0.0, 0.0)}, angel_t_test(one, other) if with_t_test else None,
    )  # fmt: skip
    file = io.StringIO()
    console = Console(file=file, width=120)
    for table in comparison_tables(found, "[a]", "b\x1b"):
        console.print(table)
    return file.getvalue()


def test_shows_both_systems_and_significance() -> None:
    text = print_tables(with_t_test=False)
    assert "[a] against b\\x1b, strict, 10 mentions" in text
    assert "+30.0" in text
    assert "McNemar" in text
    assert "0.25" in text
    assert "ANGEL" not in text
    assert "\x1b" not in text


def test_scores_show_coverage() -> None:
    assert "50.0 (9 of 10 mentions predicted)" in print_tables(with_t_test=False, covered=9)
    assert "predicted" not in print_tables(with_t_test=False)


def test_t_test_is_marked_invalid() -> None:
    assert "statistically invalid" in print_tables(with_t_test=True)
