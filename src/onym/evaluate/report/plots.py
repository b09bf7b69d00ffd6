"""The figures of a report: matplotlib draws them, and they become SVG to stand inside the page.

Colours are written as variables of the page's style sheet, so that they follow its light and dark scheme, and text stays text
in the page's own type. The same values give the same bytes: ids are hashed with a fixed salt and there is no date.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from onym.errors import missing_extra, printable
from onym.evaluate.report.content import Bin, RecallPoint, SliceRow, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Stand-ins that matplotlib writes and the page's variables that they become.
_INK, _MUTED, _LINE, _BAR, _STRONG, _WRONG = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
_VARIABLES = {_INK: "ink", _MUTED: "muted", _LINE: "line", _BAR: "bar", _STRONG: "strong", _WRONG: "wrong"}
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "onym", "svg.fonttype": "none", "text.parse_math": False, "font.family": "sans-serif", "font.size": 13.0,
    "text.color": _INK, "axes.labelcolor": _MUTED, "axes.edgecolor": _LINE, "xtick.color": _MUTED, "ytick.color": _INK,
    "axes.linewidth": 1.0, "hatch.linewidth": 1.4, "hatch.color": _WRONG, "xtick.major.size": 0.0, "ytick.major.size": 0.0,
    "xtick.labelsize": 12.0, "axes.labelsize": 12.0,
}  # fmt: skip
_PIXELS = 72.0  # matplotlib's SVG has 72 units an inch; figures are laid out in pixels of the page
_WIDTH = 920.0


def slices_plot(rows: Sequence[SliceRow]) -> str:
    """Draw recall@1 of each slice as a bar with its interval and number of cases; empty slices have no bar.

    >>> slices_plot([SliceRow("Overall", "All cases.", 100, 0.9, 0.84, 0.95)])[:4]
    '<svg'
    """
    shown = [row for row in rows if row.cases]
    height = 30.0 * len(shown) + 58
    return _drawn(
        "slices", "Recall@1 by slice, with 95 % intervals", height, lambda figure: _draw_slices(figure, shown, height)
    )


def similarity_plot(bins: Sequence[Bin]) -> str:
    """Draw the accuracy of each bin of likeness, and beside it the number of errors, hatched (after ANGEL's figure 4).

    >>> similarity_plot([Bin("0.0 to 0.2", 10, 4)])[:4]
    '<svg'
    """
    title = "Accuracy and number of errors by the likeness of the mention to the gold concept"
    return _drawn("similarity", title, 300, lambda figure: _draw_bins(figure, bins))


def recall_plot(points: Sequence[RecallPoint]) -> str:
    """Draw recall among the first k answers, over all cases and over those within reach.

    >>> recall_plot([RecallPoint(1, 0.5, 0.6), RecallPoint(2, 0.7, 0.8)])[:4]
    '<svg'
    """
    return _drawn("recall", "Recall among the first k answers", 270, lambda figure: _draw_recall(figure, points))


def _drawn(name: str, title: str, height: float, draw: Callable[[Figure], None]) -> str:
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as e:
        raise missing_extra("a report with figures", "report") from e
    with style.context(["default", _STYLE]):  # whatever the user's own settings are
        figure = Figure(figsize=(_WIDTH / _PIXELS, height / _PIXELS))
        draw(figure)
        file = StringIO()
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=metadata)
    return _inline(file.getvalue(), name, title)


def _inline(svg: str, name: str, title: str) -> str:
    """Make of a file a part of a page: its own ids, no style sheet that would reach further, the page's colours and type."""
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)
    body = re.sub(r"font-family: [^;\"]*", "font-family: var(--type)", body)
    body = re.sub(r"font: ([0-9a-z ]*[0-9.]+px) [^;\"]*", r"font: \1 var(--type)", body)  # as older versions write it
    for stand_in, variable in _VARIABLES.items():
        body = body.replace(stand_in, f"var(--{variable})")
    box = re.search(r'viewBox="[^"]*"', svg)
    size = box.group() if box else ""
    escaped = html.escape(title)
    return f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {size} role="img" aria-label="{escaped}">{body.strip()}'


def _draw_slices(figure: Figure, rows: Sequence[SliceRow], height: float) -> None:
    axes = figure.add_axes((0.225, 40 / height, 0.545, 1 - 44 / height))
    places = range(len(rows))
    axes.barh(places, [100 * row.recall for row in rows], height=0.56, color=[_STRONG if n == 0 else _BAR for n in places])
    for place, row in zip(places, rows, strict=True):
        axes.plot([100 * row.low, 100 * row.high], [place, place], color=_INK, linewidth=1.3, solid_capstyle="butt")
        for end in (row.low, row.high):
            axes.plot([100 * end, 100 * end], [place - 0.13, place + 0.13], color=_INK, linewidth=1.3)
        _beside(axes, 1.075, place, percent(row.recall))
        _beside(axes, 1.25, place, f"{percent(row.low)}–{percent(row.high)}", _MUTED)
        _beside(axes, 1.415, place, f"n = {row.cases:,}", _MUTED)
    axes.set_yticks(list(places), [printable(row.title) for row in rows])
    axes.tick_params(axis="y", pad=8)
    axes.set_ylim(len(rows) - 0.45, -0.55)
    _percent_scale(axes, "x")
    axes.set_xlabel("recall@1, %")


def _beside(axes: Axes, x: float, y: float, text: str, color: str = _INK) -> None:
    """Write right of the axes, up to x in their widths, at y of the scale."""
    axes.text(x, y, text, transform=axes.get_yaxis_transform(), ha="right", va="center_baseline", color=color)


def _draw_bins(figure: Figure, bins: Sequence[Bin]) -> None:
    from matplotlib.ticker import MaxNLocator

    accuracy = figure.add_axes((0.05, 0.25, 0.43, 0.64))
    errors = figure.add_axes((0.555, 0.25, 0.43, 0.64))
    places = list(range(len(bins)))
    accuracy.bar(places, [100 * row.accuracy for row in bins], width=0.62, color=_BAR)
    errors.bar(places, [row.errors for row in bins], width=0.62, facecolor="none", edgecolor=_WRONG, hatch="///")
    most = max((row.errors for row in bins), default=0)
    for place, row in zip(places, bins, strict=True):
        label = percent(row.accuracy) if row.cases else "no case"
        accuracy.text(place, 100 * row.accuracy + 3, label, ha="center", color=_INK)
        errors.text(place, row.errors + 0.03 * max(most, 1), f"{row.errors:,}", ha="center", color=_INK)
    for axes in (accuracy, errors):
        axes.set_xticks(places, [f"{printable(row.label)}\nn = {row.cases:,}" for row in bins])
        axes.set_xlim(-0.6, max(len(bins), 1) - 0.4)
        axes.set_xlabel("likeness to the most similar gold name", labelpad=8)
    _percent_scale(accuracy, "y")
    accuracy.set_title("accuracy, %", loc="left", fontsize=13, color=_INK)
    errors.set_ylim(0, max(most, 1) * 1.12)
    errors.set_title("errors", loc="left", fontsize=13, color=_INK)
    errors.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    _quiet(errors, "y")


def _draw_recall(figure: Figure, points: Sequence[RecallPoint]) -> None:
    axes = figure.add_axes((0.05, 0.2, 0.7, 0.72))
    ks = [point.k for point in points]
    series = [("cases within reach", [100 * point.reachable_recall for point in points], _BAR, -1)]
    series.append(("all cases", [100 * point.recall for point in points], _STRONG, 1))
    for name, values, color, side in series:
        axes.plot(ks, values, color=color, marker="o", markersize=5, linewidth=2)
        if values:
            apart = 0.0 if abs(series[0][1][-1] - series[1][1][-1]) > 2.5 else 6.0 * -side
            end = f"{name}, {values[-1]:.1f}"
            axes.annotate(end, (ks[-1], values[-1]), (12, apart), textcoords="offset points", va="center_baseline", color=_INK)
    lowest = min((value for _, values, _, _ in series for value in values), default=0.0)
    axes.set_ylim(max(0.0, 5 * (lowest // 5) - 5), 101)
    axes.set_xticks(ks)
    axes.set_xlabel("k")
    _quiet(axes, "y")
    axes.set_title("recall@k, %", loc="left", fontsize=13, color=_INK)


def _percent_scale(axes: Axes, which: str) -> None:
    (axes.set_xlim if which == "x" else axes.set_ylim)(0, 110 if which == "y" else 100)
    (axes.set_xticks if which == "x" else axes.set_yticks)([0, 20, 40, 60, 80, 100])
    _quiet(axes, which)


def _quiet(axes: Axes, which: str) -> None:
    """Leave of the frame only what carries meaning: the base line, and thin lines to read values by."""
    for side in ("top", "right", "left" if which == "y" else "bottom"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, axis="x" if which == "x" else "y", color=_LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x" if which == "x" else "y", labelcolor=_MUTED, labelsize=12)
