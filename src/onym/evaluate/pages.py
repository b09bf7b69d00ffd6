"""HTML reports of a linker, of an end-to-end pipeline and of a comparison, rendered from the Jinja2 files in `templates/`.

Surfaces, names and ids are untrusted: Jinja2 escapes every value, control characters are made visible, and a content security
policy forbids scripts and network access. Only the plots, which are our own SVG, are inserted without escaping.

The plots are drawn by matplotlib. Their colours are replaced by CSS variables, so that they follow the page's light or dark
scheme, and their text uses the page's font. The output is deterministic: SVG ids use a fixed hash salt, and there is no date.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from typing import TYPE_CHECKING, Any

from onym.errors import missing_extra, printable
from onym.evaluate.content import Bar, MistakeRow, RecallPoint, ReportContent, flat, interval, percent, share_cells
from onym.evaluate.end_to_end import EndToEndComparison, EndToEndEvaluation
from onym.evaluate.evaluation import Comparison, ConfidenceFigures, Evaluation, Scored, hits
from onym.evaluate.mistakes import common_mistakes
from onym.evaluate.published import PUBLISHED_NOTE, PUBLISHED_TITLE, find_published_for
from onym.evaluate.tables import (
    NEAR_CONCEPTS,
    NEAR_MISSES,
    NO_TYPE,
    difference_rows,
    end_to_end_difference_rows,
    slice_rows,
    type_rows,
)
from onym.evaluate.task import describe_split
from onym.kb import KnowledgeBase

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Placeholder colours in matplotlib's SVG, and the CSS variables that replace them.
INK, MUTED, LINE, BAR, STRONG, WRONG = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
_VARIABLES = {INK: "ink", MUTED: "muted", LINE: "line", BAR: "bar", STRONG: "strong", WRONG: "wrong"}
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "onym", "svg.fonttype": "none", "text.parse_math": False, "font.family": "sans-serif", "font.size": 13.0,
    "text.color": INK, "axes.labelcolor": MUTED, "axes.edgecolor": LINE, "xtick.color": MUTED, "ytick.color": INK,
    "axes.linewidth": 1.0, "xtick.major.size": 0.0, "ytick.major.size": 0.0,
    "xtick.labelsize": 12.0, "axes.labelsize": 12.0,
}  # fmt: skip
_PIXELS = 72.0  # pixels per inch: matplotlib's SVG has 72 units per inch, and one unit is one pixel of the page
_WIDTH = 920.0  # width of a plot, in pixels


def interval_plot(name: str, title: str, bars: Sequence[Bar], measure: str) -> str:
    """Draw shares as horizontal bars with confidence intervals and numbers of items; the first bar is emphasised.

    `name` must be unique on the page; `measure` is the axis label.

    >>> interval_plot("slices", "Recall by subgroup", [Bar("Overall", 100, 0.9, 0.84, 0.95)], "recall@1")[:4]
    '<svg'
    """
    height = 30.0 * len(bars) + 58
    return draw_svg(name, title, height, lambda figure: _draw_bars(figure, bars, height, measure))


def draw_svg(name: str, title: str, height: float, draw: Callable[[Figure], None]) -> str:
    """Return a plot as SVG; `title` is its description for screen readers."""
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as e:
        raise missing_extra("an HTML report", "report") from e
    with style.context(["default", _STYLE]):  # ignore the user's matplotlib settings
        figure = Figure(figsize=(_WIDTH / _PIXELS, height / _PIXELS))
        draw(figure)
        file = StringIO()
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=metadata)
    return _inline(file.getvalue(), name, title)


def _inline(svg: str, name: str, title: str) -> str:
    """Adapt an SVG file for inlining: unique ids, no style sheet, and the page's colours and font."""
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)
    body = re.sub(r"font-family: [^;\"]*", "font-family: var(--type)", body)
    # older matplotlib versions write `font` instead of `font-family`
    body = re.sub(r"font: ([0-9a-z ]*[0-9.]+px) [^;\"]*", r"font: \1 var(--type)", body)
    for placeholder, variable in _VARIABLES.items():
        body = body.replace(placeholder, f"var(--{variable})")
    box = re.search(r'viewBox="[^"]*"', svg)
    size = box.group() if box else ""
    escaped = html.escape(title)
    return f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {size} role="img" aria-label="{escaped}">{body.strip()}'


def _draw_bars(figure: Figure, bars: Sequence[Bar], height: float, measure: str) -> None:
    axes = figure.add_axes((0.225, 40 / height, 0.545, 1 - 44 / height))
    rows = range(len(bars))
    axes.barh(rows, [100 * bar.share for bar in bars], height=0.56, color=[STRONG if row == 0 else BAR for row in rows])
    for row, bar in zip(rows, bars, strict=True):
        axes.plot([100 * bar.low, 100 * bar.high], [row, row], color=INK, linewidth=1.3, solid_capstyle="butt")
        for end in (bar.low, bar.high):
            axes.plot([100 * end, 100 * end], [row - 0.13, row + 0.13], color=INK, linewidth=1.3)
        _label(axes, 1.075, row, percent(bar.share))
        _label(axes, 1.25, row, f"{percent(bar.low)}–{percent(bar.high)}", MUTED)
        _label(axes, 1.415, row, f"n = {bar.n:,}", MUTED)
    axes.set_yticks(list(rows), [printable(bar.label) for bar in bars])
    axes.tick_params(axis="y", pad=8)
    axes.set_ylim(len(bars) - 0.45, -0.55)
    percent_scale(axes, "x")
    axes.set_xlabel(f"{measure}, %")


def _label(axes: Axes, x: float, y: float, text: str, color: str = INK) -> None:
    """Write right-aligned text at x (in widths of the axes) and y (in data coordinates)."""
    axes.text(x, y, text, transform=axes.get_yaxis_transform(), ha="right", va="center_baseline", color=color)


def percent_scale(axes: Axes, which: str) -> None:
    """Scale an axis from 0 to 100 percent."""
    (axes.set_xlim if which == "x" else axes.set_ylim)(0, 110 if which == "y" else 100)
    (axes.set_xticks if which == "x" else axes.set_yticks)([0, 20, 40, 60, 80, 100])
    reduce_frame(axes, which)


def reduce_frame(axes: Axes, which: str) -> None:
    """Remove the frame except for the base line, and draw thin grid lines."""
    for side in ("top", "right", "left" if which == "y" else "bottom"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, axis="x" if which == "x" else "y", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x" if which == "x" else "y", labelcolor=MUTED, labelsize=12)


def recall_plot(points: Sequence[RecallPoint]) -> str:
    """Plot recall@k, over all cases and over the cases whose gold ids are in the KB.

    >>> recall_plot([RecallPoint(1, 0.5, 0.6), RecallPoint(2, 0.7, 0.8)])[:4]
    '<svg'
    """
    return draw_svg("recall", "Recall among the first k answers", 270, lambda figure: _draw_recall(figure, points))


def confidence_plot(found: ConfidenceFigures) -> str:
    """Plot a reliability diagram and a risk-coverage curve.

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
    risk.set_xlabel("answers kept, most confident first, %")
    risk.set_title("wrong answers among those kept, %", loc="left", fontsize=13, color=INK)
    reduce_frame(risk, "y")


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


PROTOCOL_DEFINITIONS = {
    "bhowmik-strict": "same start, same end, same concept",
    "bhowmik-partial": "same concept at an overlapping span",
    "neleval-overlap-maxmax": "same concept; the credit is the share of characters that overlap",
    "document": "same concept in the document, wherever it is mentioned",
}
ERROR_DEFINITIONS = {
    "missed": "Gold mentions that no predicted mention overlaps.",
    "unlinked": "Gold mentions that were found, but left without a concept.",
    "wrong concept": "Gold mentions that were found and linked to another concept.",
    "wrong span": "Gold mentions whose concept was predicted at another, overlapping span.",
    "spurious": "Linked mentions that overlap no gold mention.",
}
_MAX_LENGTH = 160  # maximum characters shown of a surface or a name
_MISTAKES = 25  # maximum errors shown per system in a comparison
Pair = tuple[str, str]
Tile = tuple[str, str, str]
"""The name of a score, its value in percent, and a note."""


def linking_page(content: ReportContent) -> str:
    """Render the report of a linker on annotated mentions.

    >>> made = linking_page(ReportContent("exact", "<b>", "test", "strict", "MeSH", ()))
    >>> "&lt;b&gt;" in made, "<b>" in made
    (True, False)
    """
    facts = (("Protocol", content.protocol), ("Knowledge base", content.kb), *_coverage_fact(content.coverage))
    values = {"content": content, "facts": facts, "tiles": _linking_tiles(content), "plots": _safe(_linking_plots(content))}
    return render_page("linking.html.j2", content.title, values)


def _linking_tiles(content: ReportContent) -> list[Tile]:
    main = content.main
    if main is None:
        return []
    bounds = interval(main.low, main.high)
    return [
        ("recall@1", percent(main.recall_at_1), _notes(f"95 % CI {bounds}" if bounds else "", content.coverage)),
        ("recall@5", percent(main.recall_at_5), ""),
        ("MAP", percent(main.mean_average_precision), ""),
        ("recall@1, gold id in the KB", percent(main.in_kb_recall_at_1), f"{main.in_kb:,} of {main.cases:,} cases"),
    ]


def _linking_plots(content: ReportContent) -> dict[str, str]:
    """Draw the plots of a report; a plot without data is an empty string."""
    bars = [Bar(row.title, row.cases, row.recall, row.low, row.high) for row in content.slices if row.cases]
    title = "Recall@1 by subgroup, with 95 % confidence intervals"
    return {
        "recall": recall_plot(content.recall_curve) if len(content.recall_curve) > 1 else "",
        "confidence": confidence_plot(content.confidence) if content.confidence else "",
        "slices": interval_plot("slices", title, bars, "recall@1") if bars else "",
    }


def end_to_end_page(found: EndToEndEvaluation) -> str:
    """Render the report of an end-to-end pipeline."""
    kb = found.manifest["kb"]
    facts = (
        ("Protocol", found.protocol),
        ("Knowledge base", f"{kb['concepts']:,} concepts, {kb['names']:,} names"),
        ("Documents", f"{found.documents:,}"),
        ("Gold mentions", f"{found.mentions:,}, gold id in the KB: {found.in_kb:,}"),
        *_coverage_fact(found.coverage.note),
    )
    values = {
        "found": found,
        "dataset": _dataset_and_split(found.manifest),
        "facts": facts,
        "tiles": _end_to_end_tiles(found),
        "protocols": PROTOCOL_DEFINITIONS,
        "errors": ERROR_DEFINITIONS,
        "published": find_published_for(found.manifest, found.protocol),
        "manifest": flat(found.manifest),
    }
    return render_page("end_to_end.html.j2", found.title, values | _safe({"types_plot": _types_plot(found)}))


def _end_to_end_tiles(found: EndToEndEvaluation) -> list[Tile]:
    main = found.results[found.protocol]
    figures = ((name, *share_cells([main.shares[name]])) for name in ("F1", "precision", "recall"))
    return [(name, share, _notes(f"95 % CI {bounds}", found.coverage.note)) for name, share, bounds in figures]


def _types_plot(found: EndToEndEvaluation) -> str:
    if not found.by_type:
        return ""
    main = found.results[found.protocol]
    bars = [Bar("All types", main.scores.gold, main.scores.recall, *main.recall)]
    bars += [Bar(each.type or NO_TYPE, each.gold, each.recall, each.low, each.high) for each in found.by_type]
    return interval_plot("types", "Recall by mention type, with 95 % confidence intervals", bars, "recall")


def comparison_page(found: Comparison, evaluations: tuple[Evaluation, Evaluation], names: Pair, kb: KnowledgeBase) -> str:
    """Render the report of a comparison; `names` are the display names of the two evaluated systems."""
    values = {
        "facts": (("Protocol", found.protocol), ("Mentions", f"{found.cases:,}")),
        "tiles": _comparison_tiles(found, names, "recall@1"),
        "difference": difference_rows(found, *names),
        "groups": ("Recall@1 by subgroup", "Subgroup", slice_rows(found)),
        "only_right": [_mistakes_of(evaluations[1 - right], evaluations[right], kb) for right in (0, 1)],
    }
    return _render_comparison(values, found.protocol, evaluations, names)


def end_to_end_comparison_page(
    found: EndToEndComparison, evaluations: tuple[EndToEndEvaluation, EndToEndEvaluation], names: Pair
) -> str:
    """Render the report of a comparison of two end-to-end systems."""
    values = {
        "facts": (("Protocol", found.protocol), ("Documents", f"{found.documents:,}")),
        "tiles": _comparison_tiles(found, names, "F1"),
        "difference": end_to_end_difference_rows(found, *names),
        "groups": ("Recall by mention type", "Type", type_rows(found)),
        "only_right": ((), ()),
    }
    return _render_comparison(values, found.protocol, evaluations, names)


def _render_comparison(values: Mapping[str, object], protocol: str, evaluations: Sequence[Scored], names: Pair) -> str:
    manifests = [each.manifest for each in evaluations]
    shared = {
        "names": names,
        "dataset": _dataset_and_split(manifests[0]),
        "published": find_published_for(manifests[0], protocol),
        "manifests": list(map(flat, manifests)),
    }
    return render_page("comparison.html.j2", f"{names[0]} against {names[1]}", {**values, **shared})


def _comparison_tiles(found: Comparison | EndToEndComparison, names: Pair, measure: str) -> list[Tile]:
    both = zip(names, (found.first, found.second), found.coverage, strict=True)
    bounds = f"95 % CI {100 * found.bootstrap.low:+.1f} to {100 * found.bootstrap.high:+.1f}"
    return [
        *((f"{name}, {measure}", percent(share), coverage.note) for name, share, coverage in both),
        ("difference", f"{100 * found.bootstrap.difference:+.1f}", bounds),
    ]


def _mistakes_of(own: Evaluation, other: Evaluation, kb: KnowledgeBase) -> list[MistakeRow]:
    """Return the most frequent errors of one system, in cases where the other system is right."""
    is_right = hits(other.gold_ranks)
    cases = [case for case, right in zip(own.cases, is_right, strict=True) if right]
    ranks = [rank for rank, right in zip(own.gold_ranks, is_right, strict=True) if right]
    return list(map(MistakeRow.of, common_mistakes(cases, ranks, kb, _MISTAKES)))


def _dataset_and_split(manifest: Mapping[str, Any]) -> dict[str, str]:
    return {"name": manifest["dataset"]["name"], "split": describe_split(manifest)}


def _coverage_fact(coverage: str) -> tuple[tuple[str, str], ...]:
    """Return the coverage note as a row of the page header; no row if the note is empty."""
    return (("Predictions", coverage),) if coverage else ()


def _notes(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _safe(plots: Mapping[str, str]) -> dict[str, Any]:
    """Mark our own SVG as safe; everything else is escaped."""
    from markupsafe import Markup

    return {name: Markup(svg) for name, svg in plots.items()}  # noqa: S704 - drawn by onym.evaluate.pages, text escaped there


def render_page(template: str, title: str, values: Mapping[str, object]) -> str:
    """Render a template of `templates/`; every value is escaped."""
    return _environment().get_template(template).render(values, title=title)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("onym.evaluate"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_show_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(percent=percent, thousands="{:,}".format, shorten=shorten)
    made.globals.update(interval=interval, share_cells=share_cells)
    made.globals.update(NEAR_MISSES=NEAR_MISSES, NEAR_CONCEPTS=NEAR_CONCEPTS)
    made.globals.update(PUBLISHED_TITLE=PUBLISHED_TITLE, PUBLISHED_NOTE=PUBLISHED_NOTE)
    return made


def _show_controls(value: object) -> object:
    """Make control characters in a str visible; leave markup and other values unchanged."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def shorten(text: str) -> str:
    """Truncate a long text."""
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "…"
