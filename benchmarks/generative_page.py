"""The tables of docs/reference/results.md: every row of the generative linker, and what others have published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.generative_tasks import KINDS
from benchmarks.results import Row, best, between, place, table

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "results.md"
STAGES = ("start", "pretrained", "finetuned", "preferred")
"""The stages of training, in their order; others come after them."""
PUBLISHED = (
    ("GenBioEL", "BART-large, 406 M", "91.9", "93.3", "89.3", "Yuan and others 2022, tables 1 and 2"),
    ("GenBioEL, run again by ANGEL", "BART-large, 406 M", "91.0", "93.1", "89.3", "Kim and others 2024, table 1"),
    ("ANGEL", "BART-large, 406 M", "92.8", "94.5", "90.2", "Kim and others 2024, table 1"),
)
_HEADER = (
    "stage", "start", "search", "ranking", "trained on",
    "any-id R@1", "95 %", "strict R@1", "any-id R@5", "p", "parameters", "hours",
)  # fmt: skip


def page_with(rows: Sequence[Row], page: str) -> str:
    """Return the page with the tables of these rows."""
    page = between(page, "generative", tables(rows))
    return between(page, "published", published())


def tables(rows: Sequence[Row]) -> str:
    """Return a section for each benchmark, with a table of test and one of dev."""
    if not rows:
        return "There are no rows yet."
    chosen = set(best(rows).values())
    parts = []
    for key, kind in KINDS.items():
        own = sorted((row for row in rows if row.benchmark == key), key=_order)
        if own:
            parts.append(f"### {kind.title}\n\n`{key}`")
        for split in ("test", "dev"):
            if part := [row for row in own if row.split == split]:
                parts += [_counts(part[0]), table(_HEADER, [_line(row, is_best=row.row in chosen) for row in part])]
    return "\n\n".join(parts)


def published() -> str:
    """Return the table of published figures."""
    return table(("system", "model", "NCBI disease", "BC5CDR", "AskAPatient", "source"), PUBLISHED)


def _order(row: Row) -> tuple[int, str, str, str, str, str]:
    return place(row.stage, STAGES), row.stage, row.model, row.trained_on, row.search, row.ranking


def _counts(row: Row) -> str:
    figures = row.figures
    text = f"{row.split.capitalize()}: {figures['mentions']:,} mentions, {figures['reachable']:,} of them within reach"
    return f"{text}; {figures['mapped']:,} with retired ids mapped." if "mapped" in figures else f"{text}."


def _line(row: Row, *, is_best: bool) -> list[str]:
    figures = row.figures
    first = f"{figures['any_id_r1']:.1f}"
    mapped = f" ({figures['mapped_any_id_r1']:.1f} mapped)" if "mapped" in figures else ""
    return [
        row.stage,
        row.model,
        row.search,
        row.ranking,
        row.trained_on,
        (f"**{first}**" if is_best else first) + mapped,
        f"{figures['low']:.1f}–{figures['high']:.1f}",
        f"{figures['strict_r1']:.1f}",
        f"{figures['any_id_r5']:.1f}",
        "" if row.p is None else f"{row.p:.3g}",
        f"{row.parameters / 1e6:.1f} M",
        f"{row.hours:.1f}",
    ]
