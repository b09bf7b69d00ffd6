"""Write the tables and the plot of the pages that compare tools: `python -m benchmarks.rivals.comparison_page`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

from benchmarks.results.store import between, table
from benchmarks.rivals.environments import ROOT
from benchmarks.rivals.rivals import RESULTS
from benchmarks.rivals.tasks import DATASETS, GSC

PAGE = ROOT / "docs" / "explanation" / "comparison.md"
COMING_FROM = ROOT / "docs" / "how-to" / "coming-from.md"
PLOT = ROOT / "docs" / "images" / "comparison.svg"
_TITLES = {"bc5cdr": "BC5CDR", "ncbi-disease": "NCBI disease", "biored": "BioRED", GSC: "GSC-2024 (HPO)"}
_PLOTTED = "bc5cdr"
_SCORE = {"text": "strict_f1", "mentions": "strict_r1", "terms": "strict_r1"}
Row = Mapping[str, Any]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a rectangle."""


def main() -> None:
    stored = json.loads(RESULTS.read_bytes())
    PAGE.write_text(fill_page(PAGE.read_text("utf-8"), stored), "utf-8")
    COMING_FROM.write_text(fill_coming_from(COMING_FROM.read_text("utf-8"), stored), "utf-8")
    PLOT.write_text(draw_plot(stored["rows"]), "utf-8")


def fill_page(page: str, stored: Mapping[str, Any]) -> str:
    """Return the page with its tables."""
    rows = stored["rows"]
    for name, text in {
        "rivals-text": _scores(rows, "text", (*DATASETS, GSC)),
        "rivals-mentions": _scores(rows, "mentions", tuple(DATASETS)),
        "rivals-terms": _scores(rows, "terms", tuple(DATASETS)),
        "rivals-speed": _speeds(stored["throughput"]),
        "rivals-places": _places(stored["places"]),
        "rivals-versions": _versions(rows),
    }.items():
        page = between(page, name, text)
    return page


def fill_coming_from(page: str, stored: Mapping[str, Any]) -> str:
    """Return the page with its table: the scores of each system on one corpus, and its speed."""
    cells: dict[str, dict[str, Row]] = {}
    for row in stored["rows"]:
        if row["dataset"] == _PLOTTED:  # the settings that are best on dev come last
            cells.setdefault(row["system"], {})[row["task"]] = row
    lines = [
        [
            f"{system}{' *' if any(row['degraded'] for row in own.values()) else ''}",
            *(f"{own[task][_SCORE[task]]:.1f}" if task in own else "–" for task in _SCORE),
            *_speed_cells(own.get("text")),
        ]
        for system, own in cells.items()
    ]
    header = [
        "system",
        "raw text, F1",
        "annotated mentions, recall",
        "terms, recall",
        "documents per core-second",
        "memory, GB",
    ]
    return between(page, "rivals-measured", table(header, lines))


def _speed_cells(row: Row | None) -> tuple[str, str]:
    return (f"{row['documents_per_core_s']:,.1f}", f"{row['memory_gb']:.1f}") if row else ("–", "–")


def _scores(rows: Sequence[Row], task: str, datasets: Sequence[str]) -> str:
    """Return a table of scores for systems without training, and one for those with it."""
    score = _SCORE[task]
    texts = []
    for is_trained, title in ((False, "Without training"), (True, "Trained on annotated documents")):
        own = [row for row in rows if row["task"] == task and row["is_trained"] is is_trained]
        shown = [dataset for dataset in datasets if any(row["dataset"] == dataset for row in own)]
        lines = []
        systems = list(dict.fromkeys(row["system"] for row in own))
        pairs = dict.fromkeys((row["system"], row["settings"]) for row in own)
        for system, settings in sorted(pairs, key=lambda pair: systems.index(pair[0])):
            cells = {row["dataset"]: row for row in own if (row["system"], row["settings"]) == (system, settings)}
            mark = " *" if any(row["degraded"] for row in cells.values()) else ""
            found = [_interval(cells[each], score) if each in cells else "–" for each in shown]
            lines.append([f"{system}{mark}", settings, *found])
        if lines:
            texts.append(f"{title}:\n\n{table(['system', 'settings', *(_TITLES[each] for each in shown)], lines)}")
    return "\n\n".join(texts)


def _interval(row: Row, score: str) -> str:
    return f"{row[score]:.1f} ({row['low']:.1f}–{row['high']:.1f})"


def _speeds(speeds: Mapping[str, Row]) -> str:
    header = ["system", "abstracts", "abstracts per core-second", "first answer, CPU seconds", "peak memory, GB"]
    keys = ("documents", "documents_per_core_s", "first_answer_s", "memory_gb")
    ranked = sorted(speeds.items(), key=lambda each: -each[1]["documents_per_core_s"])
    return table(header, ([name, *(f"{row[key]:,}" for key in keys)] for name, row in ranked))


def _places(places: Mapping[str, Sequence[Row]]) -> str:
    header = ["task", "dataset", "training", "place of Onym", "best of Onym", "best rival", "p"]
    lines = [
        [
            row["task"],
            _TITLES[row["dataset"]],
            "with" if row["with_training"] else "without",
            place,
            f"{row['onym']}: {row['onym_score']:.1f}",
            f"{row['rival']}: {row['rival_score']:.1f}",
            _p_value(row["p"]),
        ]
        for place, found in places.items()
        for row in found
    ]
    return table(header, lines)


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:g}"


def _versions(rows: Sequence[Row]) -> str:
    found = {row["system"]: (row["version"], row["degraded"] or "–") for row in rows}
    return table(["system", "version", "degraded"], ([system, *values] for system, values in found.items()))


# The plot: strict F1 against documents per core-second, on a logarithmic scale.

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 420, 56, 24, 36, 52
_INK, _GRID, _OWN, _OTHER = "#1f2937", "#e5e7eb", "#0f766e", "#b45309"
_LETTER = 6.6  # width of a letter of a label
_FONT = "font-family='system-ui,sans-serif'"


def draw_plot(rows: Sequence[Row]) -> str:
    """Return an SVG of the best settings of each system on one dataset."""
    best: dict[str, Row] = {}
    for row in rows:
        if (row["task"], row["dataset"]) == ("text", _PLOTTED) and row["documents_per_core_s"]:
            known = best.get(row["system"])
            best[row["system"]] = row if known is None or row["strict_f1"] > known["strict_f1"] else known
    speeds = [row["documents_per_core_s"] for row in best.values()] or [1.0]
    low, high = math.floor(math.log10(min(speeds))), math.ceil(math.log10(max(speeds) * 1.6))
    scores: list[float] = [row["strict_f1"] for row in best.values()] or [0.0]
    least, most = 10 * math.floor(min(scores) / 10 - 0.5), 10 * math.ceil(max(scores) / 10 + 0.5)

    def across(speed: float) -> float:
        return _LEFT + (math.log10(speed) - low) / max(high - low, 1) * (_WIDTH - _LEFT - _RIGHT)

    def down(score: float) -> float:
        return _HEIGHT - _BOTTOM - (score - least) / (most - least) * (_HEIGHT - _TOP - _BOTTOM)

    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' {_FONT} font-size='12'>",
        "<title>Strict F1 on BC5CDR against documents per core-second</title>",
        f"<rect width='{_WIDTH}' height='{_HEIGHT}' fill='#ffffff'/>",
    ]
    for score in range(least, most + 1, 10):
        parts.append(f"<line x1='{_LEFT}' x2='{right}' y1='{down(score):.1f}' y2='{down(score):.1f}' stroke='{_GRID}'/>")
        parts.append(_text(_LEFT - 8, down(score) + 4, str(score), "end"))
    for power in range(low, high + 1):
        x = across(10.0**power)
        parts.append(f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{_TOP}' y2='{bottom}' stroke='{_GRID}'/>")
        parts.append(_text(x, bottom + 18, f"{10.0**power:g}", "middle"))
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 12, "documents per core-second (log scale)", "middle"))
    parts.append(
        _text(_LEFT, 20, "strict F1, %, raw text of BC5CDR test; circles: without training, squares: trained", "start")
    )
    places = {system: (across(row["documents_per_core_s"]), down(row["strict_f1"])) for system, row in best.items()}
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in places.values()]
    for system, row in sorted(best.items(), key=lambda each: -each[1]["strict_f1"]):
        parts += [_mark(*places[system], row), _label(*places[system], system, row, taken)]
    return "\n".join([*parts, "</svg>", ""])


def _mark(x: float, y: float, row: Row) -> str:
    colour = _colour(row)
    if row["is_trained"]:
        return f"<rect x='{x - 5:.1f}' y='{y - 5:.1f}' width='10' height='10' fill='{colour}'/>"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5' fill='{colour}'/>"


def _label(x: float, y: float, system: str, row: Row, taken: list[Box]) -> str:
    """Return the label of a mark, at the nearest place beside, above or below it where it covers nothing."""
    name = f"{system}{' *' if row['degraded'] else ''}"
    boxes = [box for box in _boxes_near(x, y, _LETTER * len(name)) if box[0] > _LEFT and box[2] < _WIDTH]
    box = next((box for box in boxes if not any(map(partial(_overlap, box), taken))), boxes[0])
    taken.append(box)
    return _text(box[0], box[3] - 4, name, "start", _colour(row))


def _boxes_near(x: float, y: float, width: float) -> Iterator[Box]:
    """Yield places for a label of this width, the nearest first."""
    for far in (0, 7, 14, 21):
        for up in dict.fromkeys((-far, far)):
            yield x + 9, y - 8 + up, x + 9 + width, y + 8 + up
            yield x - 9 - width, y - 8 + up, x - 9, y + 8 + up
        for up in (-16 - far, 16 + far):
            yield x - width / 2, y - 8 + up, x + width / 2, y + 8 + up


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _colour(row: Row) -> str:
    return _OWN if row["system"].startswith("Onym") else _OTHER


def _text(x: float, y: float, text: str, anchor: str, colour: str = _INK) -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}'>{escape(text)}</text>"


if __name__ == "__main__":
    main()
