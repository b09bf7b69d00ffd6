"""The tables of docs/reference/results.md: every row of the generative linker, and what others have published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.generative_tasks import KINDS, ONE_NAME
from benchmarks.results import Curve, Row, best, between, table
from onym.evaluate.slices import SLICES

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "results.md"
STAGES = {
    "start": "",
    "pretrained": "start",
    "finetuned": "start",
    "preferred": "finetuned",
    "pretrained-finetuned": "finetuned",
    "pretrained-preferred": "pretrained-finetuned",
}
"""The stages of training in the order they are shown, each with the one it is compared with."""
_USUAL, _OWN = "ablation-usual", "ablation-negatives-own"
ABLATIONS = {
    _USUAL: ("as GenBioEL has it: the most similar name, prompt", ""),
    "ablation-target-shortest": ("the shortest name is learnt", _USUAL),
    "ablation-target-sampled": ("any name is learnt", _USUAL),
    "ablation-prompt-off": ("no prompt", _USUAL),
    _OWN: ("its own mistakes, by CPO and means; ANGEL's rule of pairs", ""),
    "ablation-negatives-dpo": ("its own mistakes, by DPO and sums as ANGEL learns them", _OWN),
    "ablation-negatives-similar": ("wrong names that look like the mention", _OWN),
    "ablation-negatives-all": ("its own mistakes, every pair", _OWN),
}
"""Trainings that differ in one thing, each with what it is and the one it is compared with."""
COMPARED = STAGES | {stage: other for stage, (_, other) in ABLATIONS.items()}
PUBLISHED = (
    ("GenBioEL", "BART-large, 406 M", "91.9", "93.3", "89.3", "Yuan and others 2022, tables 1 and 2"),
    ("GenBioEL, run again by ANGEL", "BART-large, 406 M", "91.0", "93.1", "89.3", "Kim and others 2024, table 1"),
    ("ANGEL", "BART-large, 406 M", "92.8", "94.5", "90.2", "Kim and others 2024, table 1"),
)
_HEADER = (
    "stage", "start", "search", "ranking", "trained on",
    "any-id R@1", "95 %", "strict R@1", "any-id R@5", "p", "parameters", "hours",
)  # fmt: skip


def page_with(rows: Sequence[Row], curves: Mapping[str, Curve], page: str) -> str:
    """Return the page with the tables of these rows and curves."""
    whole = [row for row in rows if row.stage not in ABLATIONS]
    page = between(page, "generative", tables(whole))
    page = between(page, "slices", slices(whole))
    page = between(page, "ablations", ablations([row for row in rows if row.stage in ABLATIONS]))
    page = between(page, "curves", learnt(curves))
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


def ablations(rows: Sequence[Row]) -> str:
    """Return the table of trainings that differ in one thing."""
    if not rows:
        return "There are no rows yet."
    header = ("what differs", "names at inference", "search", "ranking", "any-id R@1", "95 %", "any-id R@5", "p")
    order = sorted(rows, key=lambda row: (list(ABLATIONS).index(row.stage), row.benchmark, row.search, row.ranking))
    return table(header, [_ablation(row) for row in order])


def _ablation(row: Row) -> list[str]:
    names = "one" if row.benchmark == ONE_NAME else "all"
    return [ABLATIONS[row.stage][0], names, row.search, row.ranking, *_shares(row), _p(row)]


def slices(rows: Sequence[Row]) -> str:
    """Return any-id recall@1 of the chosen row of each benchmark, slice by slice."""
    chosen = [row for row in rows if row.row in set(best(rows).values())]
    if not chosen:
        return "There are no rows yet."
    shown = [name for name in SLICES if any(name in row.slices for row in chosen)]
    lines = [[SLICES[name].title, *(_slice(row.slices.get(name)) for row in chosen)] for name in shown]
    return table(["slice", *(f"`{row.benchmark}`" for row in chosen)], lines)


def learnt(curves: Mapping[str, Curve]) -> str:
    """Return the scores of every model on dev while it was trained."""
    lines = [[f"`{name}`", ", ".join(f"{step:,}: {first:.1f}" for step, first, _ in curve)] for name, curve in curves.items()]
    return table(("model", "any-id R@1 on dev after so many steps"), [line for line in lines if line[1]])


def _slice(found: list[float] | None) -> str:
    return f"{found[1]:.1f} ({found[0]:,})" if found else ""


def published() -> str:
    """Return the table of published figures."""
    return table(("system", "model", "NCBI disease", "BC5CDR", "AskAPatient", "source"), PUBLISHED)


def _order(row: Row) -> tuple[int, str, str, str, str, str]:
    return _place(row.stage), row.stage, row.model, row.trained_on, row.search, row.ranking


def _place(stage: str) -> int:
    return list(STAGES).index(stage) if stage in STAGES else len(STAGES)


def _counts(row: Row) -> str:
    figures = row.figures
    text = f"{row.split.capitalize()}: {figures['mentions']:,} mentions, {figures['reachable']:,} of them within reach"
    return f"{text}; {figures['mapped']:,} with retired ids mapped." if "mapped" in figures else f"{text}."


def _line(row: Row, *, is_best: bool) -> list[str]:
    figures = row.figures
    first, interval, fifth = _shares(row)
    mapped = f" ({figures['mapped_any_id_r1']:.1f} mapped)" if "mapped" in figures else ""
    return [
        row.stage,
        row.model,
        row.search,
        row.ranking,
        row.trained_on,
        (f"**{first}**" if is_best else first) + mapped,
        interval,
        f"{figures['strict_r1']:.1f}",
        fifth,
        _p(row),
        f"{row.parameters / 1e6:.1f} M",
        f"{row.hours:.1f}",
    ]


def _shares(row: Row) -> tuple[str, str, str]:
    """Return any-id recall@1, its interval, and recall@5."""
    figures = row.figures
    return f"{figures['any_id_r1']:.1f}", f"{figures['low']:.1f}–{figures['high']:.1f}", f"{figures['any_id_r5']:.1f}"


def _p(row: Row) -> str:
    return "" if row.p is None else f"{row.p:.3g}"
