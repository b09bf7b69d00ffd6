"""Sections of the results page: how the rows of one kind of linker are predicted, compared and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results.store import FOLDER, Curve, Row, Store, best, table
from benchmarks.results.tasks import KINDS
from onym.evaluate.slices import SLICES
from onym.kb import KnowledgeBase
from onym.methods.base import Linker

PAGE = Path(__file__).parents[2] / "results" / "tables.md"

PageWith = Callable[[Sequence[Row], Mapping[str, Curve], str], str]
"""Insert the tables of rows and curves into a page and return it."""


@dataclass(frozen=True)
class Section:
    """Settings of one kind of linker.

    `keys` are the datasets that the linker is evaluated on. `stages` maps each training stage to the stage it is compared with.
    `open` opens a model with a given search and ranking. `open_as_said` opens it with the settings recorded in its predictions.
    `answers` returns the number of concepts stored per mention. `best_figures` returns the figures of the rows selected on dev.
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
        """Store of the section's rows."""
        return Store(FOLDER / self.name)


# Tables of results/tables.md that all linkers share: rows, slices, learning curves.

NO_ROWS = "There are no rows yet."
_FIRST = ("stage", "start", "search", "ranking", "trained on")
_LAST = ("p", "parameters", "hours")
_RECALLS = {
    "any-id": ("any-id R@1", "95 %", "strict R@1", "any-id R@5"),
    "biosyn": ("R@1", "95 %", "R@5"),
}


def tables(rows: Sequence[Row], keys: Sequence[str], stages: Sequence[str]) -> str:
    """Return one section per dataset with a test and a dev table, rows in order of training stage."""
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
    """Return a table of recall@1 by slice, for the selected row of each dataset."""
    best_rows = [row for row in rows if row.row in set(best(rows).values())]
    if not best_rows:
        return NO_ROWS
    shown = [name for name in SLICES if any(name in row.slices for row in best_rows)]
    lines = [[SLICES[name].title, *(_slice(row.slices.get(name)) for row in best_rows)] for name in shown]
    return table(["slice", *(f"`{row.dataset}`" for row in best_rows)], lines)


def tabulate_dev_scores(curves: Mapping[str, Curve]) -> str:
    """Return a table of each model's dev scores during training."""
    if not curves:
        return NO_ROWS
    lines = [[f"`{name}`", ", ".join(f"{step:,}: {first:.1f}" for step, first, _ in curve)] for name, curve in curves.items()]
    return table(("model", "R@1 on dev by training step"), [line for line in lines if line[1]])


def shares(row: Row) -> tuple[str, str, str]:
    """Return recall@1, its confidence interval and recall@5, under the protocol of the row."""
    figures = row.figures
    first = figures["any_id_r1"] if "any_id_r1" in figures else figures["r1"]
    return f"{first:.1f}", f"{figures['low']:.1f}–{figures['high']:.1f}", f"{figures['r5']:.1f}"


def p_of(row: Row) -> str:
    """Return the formatted p-value of a row, or an empty string."""
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
