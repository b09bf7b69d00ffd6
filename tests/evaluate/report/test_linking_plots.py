"""Tests of the plots in a linking report."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from lxml import etree

from onym.evaluate.content import RecallPoint
from onym.evaluate.evaluation import ConfidenceFigures
from onym.evaluate.pages import confidence_plot, recall_plot
from tests.evaluate.report.samples import linking_sample

PLOTS: dict[str, Callable[[], str]] = {
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


def test_recall_lines_are_labelled() -> None:
    shown = texts(recall_plot([RecallPoint(1, 0.5, 0.505), RecallPoint(10, 0.8, 0.81)]))
    assert {"all cases, 80.0", "gold id in the KB, 81.0", "1", "10"} <= set(shown)


def test_no_data_gives_an_empty_plot() -> None:
    assert etree.fromstring(recall_plot([])).tag == "svg"
