"""Recompute all figures of one kind of linker from the stored predictions, and check the page that shows them."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.bare import bare_pipeline
from benchmarks.results.page import PAGE, Section
from benchmarks.results.predict import folder_of, parts, predict_part
from benchmarks.results.store import Judged, Row, Store, differences, judge, p_value, stage_before, twins
from benchmarks.results.tasks import KINDS, open_task
from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.outputs.predictions import Answer, Predictions
from onym.store.models import weights_digest
from onym.store.output import whole_file


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--write", action="store_true", help="write the page, and update the comparison of each row with its previous stage"
    )
    parser.add_argument("--rerun", metavar="ROW", default="", help="predict some mentions of this row again with its model")


def check(section: Section, options: argparse.Namespace, store: Store | None = None) -> dict[str, object]:
    """Return all rows and the rows selected on dev; exit with a list of problems if there are any."""
    store = store or section.store
    rows = store.rows()
    problems = twins(rows)
    judged = _judge_rows(store, rows, problems, is_quick=options.quick)
    compared = [with_before(section, row, rows, judged) for row in rows]
    is_written = options.write and not problems
    if is_written:
        rows = compared
        if rows:
            store.write(rows)
    problems += [f"{row.row}: {_other(row, now)}" for row, now in zip(rows, compared, strict=True) if row != now]
    problems += page_problems(
        f"{section.name}-results", lambda page: section.page_with(rows, store.curves(), page), is_written=is_written
    )
    if options.rerun:
        problems += _rerun(section, store, options.rerun)
    if problems:
        sys.exit("\n".join(problems))
    return {"runs": [run_of(section, row) for row in rows], "best": section.best_figures(rows)}


def page_problems(benchmark: str, with_rows: Callable[[str], str], *, is_written: bool, path: Path | None = None) -> list[str]:
    """Write the page if `is_written`; return a problem if the page does not show the current rows."""
    path = path or PAGE
    page = path.read_text("utf-8")
    if is_written:
        page = with_rows(page)
        with whole_file(path, force=True) as file:
            file.write(page.encode())
    problem = f"the page does not show these rows: run python -m benchmarks {benchmark} --write"
    return [] if with_rows(page) == page else [problem]


def with_before(section: Section, row: Row, rows: Sequence[Row], judged: dict[str, Judged]) -> Row:
    """Return a row with its previous stage and the p-value of their difference.

    If one of the two rows was not scored again, the stored p-value is kept.
    """
    before = stage_before(row, rows, section.stages)
    if before is None:
        return replace(row, before="", p=None)
    if row.row in judged and before.row in judged:
        return replace(row, before=before.row, p=p_value(judged[row.row], judged[before.row]))
    return replace(row, before=before.row)


def run_of(section: Section, row: Row) -> dict[str, object]:
    """Return the fields of a row that are printed."""
    said = (row.dataset, row.stage, row.search, row.ranking, row.trained_on, row.split)
    names = ("dataset", "stage", "search", "ranking", "trained_on", "split")
    figures = {name: row.figures[name] for name in section.figures if name in row.figures}
    return {"row": row.row, **dict(zip(names, said, strict=True)), **figures, "parameters": row.parameters, "hours": row.hours}


def _judge_rows(store: Store, rows: Sequence[Row], problems: list[str], *, is_quick: bool) -> dict[str, Judged]:
    """Score the stored predictions of rows again, and append differing figures to `problems`."""
    found: dict[str, Judged] = {}
    for row in rows:
        if is_quick and not KINDS[row.dataset].is_quick:
            continue
        try:
            task = open_task(row.dataset, row.split)
            predictions = store.predictions(row)
            found[row.row] = judge(task, predictions)
        except (OnymError, OSError, ValueError) as e:
            problems.append(f"{row.row}: {e}")
            continue
        problems += [f"{row.row}: {what}" for what in differences(row.figures, found[row.row].figures)]
        problems += [f"{row.row}: slice {what}" for what in differences(row.slices, found[row.row].slices)]
        warn_of_other_kb(row, predictions, task.kb)
    return found


def warn_of_other_kb(row: Row, predictions: Predictions, kb: KnowledgeBase) -> None:
    """Print a line to stderr if the predictions of a row were made with another knowledge base."""
    own = predictions.source["kb"]["digest"]
    if own != kb.digest:
        print(f"{row.row}: made with the knowledge base {own}", file=sys.stderr)


def _other(row: Row, now: Row) -> str:
    return f"p against {now.before or 'no row'} is {now.p}, not {row.p} against {row.before or 'no row'}; add --write"


def _rerun(section: Section, store: Store, key: str) -> list[str]:

    rows = {row.row: row for row in store.rows()}
    return rerun(section, store, rows[key]) if key in rows else [f"{key}: no such row"]


# Rerun part of a stored row, to check that model, knowledge base and code still give the same answers.

TOLERANCE = 0.02
"""Allowed difference of scores (natural log probabilities): absolute down to -1, relative below it."""


def rerun(section: Section, store: Store, row: Row) -> list[str]:
    """Predict one part of a row again (always the same part), and return the differences."""
    folder = folder_of(row.model_folder)
    if not folder.is_dir():
        return [f"{row.row}: no model found in {folder}"]
    if (found := weights_digest(folder)) != row.weights:
        return [f"{row.row}: the weights are {found}, not {row.weights}"]
    kept = store.predictions(row)
    task = open_task(row.dataset, row.split)
    said = kept.source["linker"]
    expand = said.get("expand_abbreviations", kept.source.get("expand_abbreviations", True))  # older rows: the linker's option
    pipeline = bare_pipeline(section.open_as_said(folder, task.kb, said), kept.source["top_k"], expand=expand)
    all_parts = list(parts(task.dataset.documents(row.split)))
    part = random.Random(row.row).choice(all_parts[:-1] or all_parts)  # skip the last part, which may be small
    return [
        f"{row.row}: {one.document_id} {one.start}-{one.end}: {why}"
        for one in predict_part(pipeline, part)
        if (why := unlike(kept.answers[one.document_id, one.start, one.end], one.answers))
    ]


def unlike(kept: Sequence[Answer], again: Sequence[Answer], tolerance: float = TOLERANCE) -> str:
    """Return how two answer lists of a mention differ beyond the tolerance, or an empty string."""
    one, other = _scores(kept), _scores(again)
    if bool(one) != bool(other):
        return "one has no answer"
    if any(not _is_near(one[ids], other[ids], tolerance) for ids in one.keys() & other.keys()):
        return "a score differs"
    for mine, yours in ((one, other), (other, one)):
        last = min(yours.values(), default=0.0)
        if any(score > last and not _is_near(score, last, tolerance) for ids, score in mine.items() if ids not in yours):
            return "an answer is missing"
    return ""


def _scores(answers: Sequence[Answer]) -> dict[tuple[str, ...], float]:
    return {ids: score for ids, score, _ in answers}


def _is_near(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(1.0, abs(one))
