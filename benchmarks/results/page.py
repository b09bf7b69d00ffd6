"""A section of the results page: the rows of one kind of linker, how they are predicted, compared and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results.store import FOLDER, Curve, Row, Store, best, table
from benchmarks.results.tasks import KINDS
from onym.evaluate.slices import SLICES
from onym.kb import KnowledgeBase
from onym.linkers.base import Linker

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "results-tables.md"

PageWith = Callable[[Sequence[Row], Mapping[str, Curve], str], str]
"""Returns a page with the tables of rows and curves in it."""


@dataclass(frozen=True)
class Section:
    """One kind of linker.

    `keys` are the benchmarks it is judged on; `stages` its stages of training, each with the one it is compared with; `chosen`
    tells which rows are chosen on dev. `open` opens a model for a search and a ranking, `open_as_said` one with the settings
    that predictions were made with; `answers` is how many concepts are kept of each mention.
    """

    name: str
    keys: tuple[str, ...]
    stages: Mapping[str, str]
    searches: tuple[str, ...]
    rankings: tuple[str, ...]
    open: Callable[[Path, KnowledgeBase, str, str], Linker]
    open_as_said: Callable[[Path, KnowledgeBase, dict[str, Any]], Linker]
    answers: Callable[[KnowledgeBase], int]
    page_with: PageWith
    best_figures: Callable[[Sequence[Row]], Mapping[str, object]]
    figures: tuple[str, ...]
    usual_start: str

    @property
    def store(self) -> Store:
        """Where its rows are."""
        return Store(FOLDER / self.name)


# Tables of docs/reference/results-tables.md that every kind of linker has: rows, slices, learning curves.

NO_ROWS = "There are no rows yet."
_FIRST = ("stage", "start", "search", "ranking", "trained on")
_LAST = ("p", "parameters", "hours")
_RECALLS = {
    "any-id": ("any-id R@1", "95 %", "strict R@1", "any-id R@5"),
    "biosyn": ("R@1", "95 %", "R@5"),
}


def tables(rows: Sequence[Row], keys: Sequence[str], stages: Sequence[str]) -> str:
    """Return a section for each benchmark, with a table of test and one of dev; rows in the order of their stages."""
    if not rows:
        return NO_ROWS
    best_rows = set(best(rows).values())
    parts = []
    for key in keys:
        own = sorted((row for row in rows if row.dataset == key), key=lambda row: _order(row, stages))
        if own:
            parts.append(f"### {KINDS[key].title}\n\n`{key}`")
        header = (*_FIRST, *_RECALLS[KINDS[key].protocol], *_LAST)
        for split in ("test", "dev"):
            if part := [row for row in own if row.split == split]:
                parts += [_counts(part[0]), table(header, [_line(row, is_best=row.row in best_rows) for row in part])]
    return "\n\n".join(parts)


def slices(rows: Sequence[Row]) -> str:
    """Return recall@1 of the chosen row of each benchmark, slice by slice."""
    best_rows = [row for row in rows if row.row in set(best(rows).values())]
    if not best_rows:
        return NO_ROWS
    shown = [name for name in SLICES if any(name in row.slices for row in best_rows)]
    lines = [[SLICES[name].title, *(_slice(row.slices.get(name)) for row in best_rows)] for name in shown]
    return table(["slice", *(f"`{row.dataset}`" for row in best_rows)], lines)


def tabulate_dev_scores(curves: Mapping[str, Curve]) -> str:
    """Return the scores of every model on dev while it was trained."""
    if not curves:
        return NO_ROWS
    lines = [[f"`{name}`", ", ".join(f"{step:,}: {first:.1f}" for step, first, _ in curve)] for name, curve in curves.items()]
    return table(("model", "R@1 on dev after so many steps"), [line for line in lines if line[1]])


def shares(row: Row) -> tuple[str, str, str]:
    """Return recall@1, its interval, and recall@5, by the protocol that a row is judged by."""
    figures = row.figures
    first = figures["any_id_r1"] if "any_id_r1" in figures else figures["r1"]
    return f"{first:.1f}", f"{figures['low']:.1f}–{figures['high']:.1f}", f"{figures['r5']:.1f}"


def p_of(row: Row) -> str:
    """Return the p-value of a row, where it has one."""
    return "" if row.p is None else f"{row.p:.3g}"


def _order(row: Row, stages: Sequence[str]) -> tuple[int, str, str, str, str, str]:
    rank = stages.index(row.stage) if row.stage in stages else len(stages)
    return rank, row.stage, row.model, row.trained_on, row.search, row.ranking


def _counts(row: Row) -> str:
    figures = row.figures
    text = f"{row.split.capitalize()}: {figures['mentions']:,} mentions, {figures['in_kb']:,} of them with a gold id in the KB"
    return f"{text}; {figures['mapped']:,} with retired ids mapped." if "mapped" in figures else f"{text}."


def _line(row: Row, *, is_best: bool) -> list[str]:
    figures = row.figures
    first, interval, fifth = shares(row)
    mapped = f" ({figures['mapped_any_id_r1']:.1f} mapped)" if "mapped" in figures else ""
    strict = [f"{figures['strict_r1']:.1f}"] if "strict_r1" in figures else []
    return [
        row.stage,
        row.model,
        row.search,
        row.ranking,
        row.trained_on,
        (f"**{first}**" if is_best else first) + mapped,
        interval,
        *strict,
        fifth,
        p_of(row),
        f"{row.parameters / 1e6:.1f} M",
        f"{row.hours:.1f}",
    ]


def _slice(found: list[float] | None) -> str:
    return f"{found[1]:.1f} ({found[0]:,})" if found else ""
