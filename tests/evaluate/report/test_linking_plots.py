"""Tests of the plots in a linking report."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from lxml import etree

from onym.evaluate.content import Bin, RecallPoint
from onym.evaluate.evaluation import ConfidenceFigures
from onym.evaluate.pages import confidence_plot, recall_plot, similarity_plot
from tests.evaluate.report.samples import linking_sample

PLOTS: dict[str, Callable[[], str]] = {
    "similarity": lambda: similarity_plot(linking_sample().bins),
    "recall": lambda: recall_plot(linking_sample().recall_curve),
    "confidence": lambda: confidence_plot(ConfidenceFigures.of([0.2, 0.8, 0.9, 1.0], [False, True, False, True])),
}


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize("name", PLOTS)
def test_plots_are_well_formed_and_deterministic(name: str) -> None:
    svg = PLOTS[name]()
    assert etree.fromstring(svg).tag == "svg"
    assert svg == PLOTS[name]()


def test_bins_show_accuracy_errors_and_count() -> None:
    svg = similarity_plot([Bin("0.0 to 0.2", 50, 30), Bin("0.8 to 1.0", 4000, 1)])
    assert {"40.0", "100.0", "30", "1", "0.0 to 0.2", "n = 50", "n = 4,000"} <= set(texts(svg))
    assert "<pattern" in svg


def test_empty_bin_is_labelled() -> None:
    assert "no case" in texts(similarity_plot([Bin("0.0 to 0.2", 0, 0)]))


def test_recall_lines_are_labelled() -> None:
    shown = texts(recall_plot([RecallPoint(1, 0.5, 0.505), RecallPoint(10, 0.8, 0.81)]))
    assert {"all cases, 80.0", "gold id in the KB, 81.0", "1", "10"} <= set(shown)


@pytest.mark.parametrize("draw", [lambda: similarity_plot([]), lambda: recall_plot([])])
def test_no_data_gives_an_empty_plot(draw: Callable[[], str]) -> None:
    assert etree.fromstring(draw()).tag == "svg"
