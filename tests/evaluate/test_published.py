"""Tests that published scores match the results page, and that their datasets and protocols exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets.catalogue import get
from onym.evaluate.end_to_end import END_TO_END
from onym.evaluate.metrics import PROTOCOLS
from onym.evaluate.published import PUBLISHED, PublishedFigure, find_published

PAGE = Path(__file__).parents[2] / "results" / "tables.md"


@pytest.mark.parametrize("figure", PUBLISHED, ids=lambda each: f"{each.system}-{each.dataset}-{each.protocol}")
def test_published_scores_are_on_the_results_page(figure: PublishedFigure) -> None:
    assert get(figure.dataset).name == figure.dataset
    assert figure.protocol in (*PROTOCOLS, *END_TO_END)
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| {figure.system} |")]
    assert any(f" {figure.percent:.1f} " in row and figure.source in row for row in rows)


def test_best_is_first_and_only_for_test_split() -> None:
    for dataset, protocol in {(each.dataset, each.protocol) for each in PUBLISHED}:
        shares = [each.percent for each in find_published(dataset, "test", protocol)]
        assert shares == sorted(shares, reverse=True)
        assert find_published(dataset, "dev", protocol) == ()
