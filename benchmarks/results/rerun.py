"""Predicting a part of a kept row again: do the model, the knowledge base and the code still give the same answers?

On one machine the answers are the same to the last digit kept. On another, rounding differs: scores may differ by a tolerance,
and an answer may take the last place of another if its score is no further from it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from benchmarks.results.predict import folder_of, parts, predicted_part
from benchmarks.results.section import Section
from benchmarks.results.store import Row, Store
from benchmarks.results.tasks import open_task
from onym.outputs.predictions import Answer
from onym.store.models import weights_digest

TOLERANCE = 0.02
"""Of scores: natural logarithms of probabilities. As a share where a score is below -1."""


def rerun(section: Section, store: Store, row: Row) -> list[str]:
    """Predict a part of a row again, always the same one, and return what differs."""
    folder = folder_of(row.model_folder)
    if not folder.is_dir():
        return [f"{row.row}: there is no model in {folder}"]
    if (found := weights_digest(folder)) != row.weights:
        return [f"{row.row}: the weights are {found}, not {row.weights}"]
    kept = store.predictions(row)
    task = open_task(row.dataset, row.split)
    linker = section.open_as_said(folder, task.kb, kept.source["linker"])
    all_parts = list(parts(task.dataset.documents(row.split)))
    part = random.Random(row.row).choice(all_parts[:-1] or all_parts)  # the last may be small
    return [
        f"{row.row}: {one.document_id} {one.start}-{one.end}: {why}"
        for one in predicted_part(linker, part, kept.source["top_k"])
        if (why := unlike(kept.answers[one.document_id, one.start, one.end], one.answers))
    ]


def unlike(kept: Sequence[Answer], again: Sequence[Answer], tolerance: float = TOLERANCE) -> str:
    """Return how two lists of answers to one mention differ, beyond the tolerance; nothing where they do not."""
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
