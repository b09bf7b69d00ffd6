"""Plots of a linking report: recall among the first k answers, accuracy by string similarity, and how far confidences hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onym.errors import printable
from onym.evaluate.confidence import ConfidenceFigures
from onym.evaluate.report.linking.content import Bin, RecallPoint
from onym.evaluate.report.plots import BAR, INK, LINE, STRONG, WRONG, draw_svg, percent_scale, reduce_frame
from onym.evaluate.report.values import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def similarity_plot(bins: Sequence[Bin]) -> str:
    """Draw the accuracy of each bin of string similarity, and next to it the number of errors (after ANGEL's figure 4).

    >>> similarity_plot([Bin("0.0 to 0.2", 10, 4)])[:4]
    '<svg'
    """
    title = "Accuracy and number of errors by string similarity to the gold concept"
    return draw_svg("similarity", title, 300, lambda figure: _draw_bins(figure, bins))


def recall_plot(points: Sequence[RecallPoint]) -> str:
    """Draw recall among the first k answers, over all cases and over those whose gold ids are in the KB.

    >>> recall_plot([RecallPoint(1, 0.5, 0.6), RecallPoint(2, 0.7, 0.8)])[:4]
    '<svg'
    """
    return draw_svg("recall", "Recall among the first k answers", 270, lambda figure: _draw_recall(figure, points))


def confidence_plot(found: ConfidenceFigures) -> str:
    """Draw the accuracy of answers by their confidence (a reliability diagram), and next to it the risk over coverage.

    >>> confidence_plot(ConfidenceFigures.of([0.9, 0.1], [True, False]))[:4]
    '<svg'
    """
    title = "Accuracy by confidence, and share of wrong answers by share of answers kept"
    return draw_svg("confidence", title, 330, lambda figure: _draw_confidence(figure, found))


def _draw_confidence(figure: Figure, found: ConfidenceFigures) -> None:
    reliability = figure.add_axes((0.05, 0.17, 0.4, 0.72))
    risk = figure.add_axes((0.555, 0.17, 0.43, 0.72))
    reliability.plot([0, 100], [0, 100], color=LINE, linewidth=1.2)
    confidences = [100 * each.confidence for each in found.bins]
    accuracies = [100 * each.accuracy for each in found.bins]
    reliability.plot(confidences, accuracies, color=BAR, linewidth=1.6, marker="o", markersize=6)
    reliability.set_xlim(0, 102)
    reliability.set_xlabel("confidence, %")
    percent_scale(reliability, "y")
    reliability.set_ylim(0, 102)
    reliability.set_title("answers that are right, %", loc="left", fontsize=13, color=INK)
    coverages = [100 * coverage for coverage, _ in found.curve]
    risks = [100 * wrong for _, wrong in found.curve]
    risk.plot(coverages, risks, color=WRONG, linewidth=1.8)
    risk.set_xlim(0, 100)
    risk.set_ylim(0, max(1.0, *risks) * 1.12)
    risk.set_xlabel("answers kept, the surest first, %")
    risk.set_title("of these, wrong, %", loc="left", fontsize=13, color=INK)
    reduce_frame(risk, "y")


def _draw_bins(figure: Figure, bins: Sequence[Bin]) -> None:
    from matplotlib.ticker import MaxNLocator

    accuracy = figure.add_axes((0.05, 0.25, 0.43, 0.64))
    errors = figure.add_axes((0.555, 0.25, 0.43, 0.64))
    columns = list(range(len(bins)))
    accuracy.bar(columns, [100 * row.accuracy for row in bins], width=0.62, color=BAR)
    errors.bar(columns, [row.errors for row in bins], width=0.62, facecolor="none", edgecolor=WRONG, hatch="///")
    max_errors = max((row.errors for row in bins), default=0)
    for column, row in zip(columns, bins, strict=True):
        label = percent(row.accuracy) if row.cases else "no case"
        accuracy.text(column, 100 * row.accuracy + 3, label, ha="center", color=INK)
        errors.text(column, row.errors + 0.03 * max(max_errors, 1), f"{row.errors:,}", ha="center", color=INK)
    for axes in (accuracy, errors):
        axes.set_xticks(columns, [f"{printable(row.label)}\nn = {row.cases:,}" for row in bins])
        axes.set_xlim(-0.6, max(len(bins), 1) - 0.4)
        axes.set_xlabel("string similarity to the most similar gold name", labelpad=8)
    percent_scale(accuracy, "y")
    accuracy.set_title("accuracy, %", loc="left", fontsize=13, color=INK)
    errors.set_ylim(0, max(max_errors, 1) * 1.12)
    errors.set_title("errors", loc="left", fontsize=13, color=INK)
    errors.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    reduce_frame(errors, "y")


def _draw_recall(figure: Figure, points: Sequence[RecallPoint]) -> None:
    axes = figure.add_axes((0.05, 0.2, 0.7, 0.72))
    ks = [point.k for point in points]
    series = [("gold id in the KB", [100 * point.in_kb_recall for point in points], BAR, -1)]
    series.append(("all cases", [100 * point.recall for point in points], STRONG, 1))
    for name, values, color, side in series:
        axes.plot(ks, values, color=color, marker="o", markersize=5, linewidth=2)
        if values:
            apart = 0.0 if abs(series[0][1][-1] - series[1][1][-1]) > 2.5 else 6.0 * -side
            end = f"{name}, {values[-1]:.1f}"
            axes.annotate(end, (ks[-1], values[-1]), (12, apart), textcoords="offset points", va="center_baseline", color=INK)
    lowest = min((value for _, values, _, _ in series for value in values), default=0.0)
    axes.set_ylim(max(0.0, 5 * (lowest // 5) - 5), 101)
    axes.set_xticks(ks)
    axes.set_xlabel("k")
    reduce_frame(axes, "y")
    axes.set_title("recall@k, %", loc="left", fontsize=13, color=INK)
