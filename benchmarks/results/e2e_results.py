"""Recompute all end-to-end figures (detection and linking) from the stored predictions, and check the results page.

Fails if a figure differs from results/e2e or is missing from results/tables.md; `--write` writes the page.
`--rerun ROW` predicts 20 documents of a row again. `--quick` trusts the stored figures, because the knowledge base takes a
minute to build; otherwise, rows of another knowledge base are listed on stderr. `best` has the figures of the system that
is best on dev, by corpus. Systems that link gold mentions have separate tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from benchmarks.results.check import add_options, page_problems, unlike, warn_of_other_kb
from benchmarks.results.e2e_predict import ANNOTATED, FORMS, STORE, figures_of, open_system, predict_with, task_of
from benchmarks.results.e2e_tasks import JOINED, KINDS
from benchmarks.results.page import NO_ROWS
from benchmarks.results.store import Figures, Row, Store, between, differences, table, twins
from onym.errors import OnymError

__all__ = ["add_options", "run"]

FIGURES = (*(f"{name}_{part}" for name in ("strict", "partial") for part in ("p", "r", "f1")), "document_f1")
_HEADER = (
    *(
        "detector",
        "linker",
        "models",
        "trained on",
        "strict P / R",
        "strict F1",
        "95 %",
        "reduced",
        "partial P / R",
        "partial F1",
    ),
    *("overlap F1", "document F1", "documents/s", "parameters", "hours"),
)
ANNOTATED_FIGURES = ("strict_r1", "any_id_r1", "map")
_ANNOTATED_HEADER = ("linker", "models", "trained on", "strict R@1", "any-id R@1", "MAP", "parameters", "hours")
_RERUN = 20  # documents
_PAPER = "Bhowmik and others 2021, table 7"
_PAPER_ANNOTATED = "Bhowmik and others 2021, table 3"
PUBLISHED = (
    ("SciSpacy", "", "14.5 / 48.4", "22.3", "15.5 / 53.4", "24.0", _PAPER),
    ("MedType", "", "15.3 / 51.0", "23.5", "16.6 / 57.0", "25.7", _PAPER),
    ("dual encoder, tags", "BioBERT-base, 110 M, two of them", "10.2 / 10.8", "10.5", "29.2 / 31.5", "30.3", _PAPER),
    ("dual encoder, spans", "BioBERT-base, 110 M, two of them", "74.6 / 73.1", "73.8", "76.0 / 74.4", "75.2", _PAPER),
)
PUBLISHED_ANNOTATED = (
    ("dual encoder, one mention at a time, random negatives", "76.3", "82.4", _PAPER_ANNOTATED),
    ("dual encoder, one mention at a time, random and hard negatives", "84.8", "87.7", _PAPER_ANNOTATED),
    ("BLINK", "74.7", "75.6", _PAPER_ANNOTATED),
    ("dual encoder, collective, random negatives", "69.0", "77.2", _PAPER_ANNOTATED),
    ("dual encoder, collective, random and hard negatives", "80.7", "85.1", _PAPER_ANNOTATED),
)


def run(options: argparse.Namespace, store: Store = STORE) -> dict[str, object]:
    rows = store.rows()
    problems = twins(rows) + ([] if options.quick else _differences(store, rows))
    problems += page_problems("e2e-results", lambda page: page_with(rows, page), is_written=options.write and not problems)
    if options.rerun:
        problems += _rerun(store, options.rerun)
    if problems:
        sys.exit("\n".join(problems))
    return {"runs": [_run(row) for row in rows], "best": best_figures(rows)}


def best_figures(rows: Sequence[Row]) -> dict[str, dict[str, object]]:
    """Return the test figures, by corpus, of the system with the best strict F1 on dev."""
    named = best(rows)
    return {
        key: {"row": row.row, **{name: row.figures[name] for name in FIGURES}, "documents_per_s": row.documents_per_s}
        for key, row in named.items()
    }


def best(rows: Sequence[Row]) -> dict[str, Row]:
    """Return, by corpus, the test row of the system that is best on dev.

    For a corpus without a dev split, the system is chosen on the dev split of another corpus.
    """
    found: dict[str, Row] = {}
    for key, kind in KINDS.items():
        dev = [row for row in rows if row.dataset == key and row.split == "dev" and row.search != ANNOTATED]
        tests = [row for row in rows if row.dataset == key and row.split == "test"]
        if dev:
            first = max(dev, key=lambda row: (row.figures["strict_f1"], row.row))
            tests = [row for row in tests if row.model_folder == first.model_folder]
        else:
            tests = [row for row in tests if kind.dev_corpus in found and row.stage == found[kind.dev_corpus].stage]
        if tests:
            found[key] = max(tests, key=lambda row: row.trained_on == "train+dev")
    return found


def page_with(rows: Sequence[Row], page: str) -> str:
    """Return the page with the tables of these rows."""
    header = ("system", "encoders", "strict P / R", "strict F1", "partial P / R", "partial F1", "source")
    page = between(page, "e2e", tables([row for row in rows if row.search != ANNOTATED]))
    page = between(page, "e2e-published", table(header, PUBLISHED))
    page = between(page, "e2e-annotated", tabulate_annotated([row for row in rows if row.search == ANNOTATED]))
    return between(page, "e2e-annotated-published", table(("system", "P@1", "MAP", "source"), PUBLISHED_ANNOTATED))


def tables(rows: Sequence[Row]) -> str:
    """Return one section per corpus with a test and a dev table, best system first."""
    shown = {row.row for row in best(rows).values()}
    parts = []
    for key, kind in KINDS.items():
        parts += [f"### {kind.title}, end to end\n\n`{key}`"] if any(row.dataset == key for row in rows) else []
        for split, part in _splits(rows, key, "strict_f1"):
            figures = part[0].figures
            count = max(row.figures.get("shared", 0) for row in part)
            shared = f", {count:,} of them in BC5CDR's train or dev" if count else ""
            parts.append(f"{split.capitalize()}: {figures['documents']:,} documents{shared}; {figures['gold']:,} mentions.")
            parts.append(table(_HEADER, [_line(row, is_best=row.row in shown) for row in part]))
    return "\n\n".join(parts) or NO_ROWS


def tabulate_annotated(rows: Sequence[Row]) -> str:
    """Return tables, by corpus, of systems that link gold mentions, best first."""
    parts = []
    for key, kind in KINDS.items():
        for split, part in _splits(rows, key, "strict_r1"):
            gold, in_kb = part[0].figures["gold"], part[0].figures["in_kb"]
            parts.append(f"{kind.title}, {split}: {gold:,} mentions, {in_kb:,} of them with a gold id in the KB.")
            parts.append(table(_ANNOTATED_HEADER, [_format_annotated_line(row) for row in part]))
    return "\n\n".join(parts) or NO_ROWS


def _splits(rows: Sequence[Row], key: str, figure: str) -> Iterator[tuple[str, list[Row]]]:
    """Yield the test rows and then the dev rows of a corpus, each sorted by descending figure."""
    for split in ("test", "dev"):
        if part := [row for row in rows if (row.dataset, row.split) == (key, split)]:
            yield split, sorted(part, key=lambda row: (-row.figures[figure], row.row))


def _format_annotated_line(row: Row) -> list[str]:
    shares = (f"{row.figures[name]:.1f}" for name in ANNOTATED_FIGURES)
    return [row.ranking, row.model, row.trained_on, *shares, f"{row.parameters / 1e6:.1f} M", f"{row.hours:.1f}"]


def _line(row: Row, *, is_best: bool) -> list[str]:
    figures, system = row.figures, json.loads(row.model_folder)
    first = f"{figures['strict_f1']:.1f}"
    return [
        ", ".join([row.search, *(form for form in FORMS if system.get(form))]),
        f"{row.ranking}, joined KB" if system.get("kb") == JOINED else row.ranking,
        row.model,
        row.trained_on,
        f"{figures['strict_p']:.1f} / {figures['strict_r']:.1f}",
        f"**{first}**" if is_best else first,
        f"{figures['low']:.1f}–{figures['high']:.1f}",
        f"{figures['reduced_f1']:.1f}" if "reduced_f1" in figures else "",
        f"{figures['partial_p']:.1f} / {figures['partial_r']:.1f}",
        f"{figures['partial_f1']:.1f}",
        f"{figures['overlap_f1']:.1f}",
        f"{figures['document_f1']:.1f}",
        "" if row.documents_per_s is None else f"{row.documents_per_s:.1f}",
        f"{row.parameters / 1e6:.1f} M",
        f"{row.hours:.1f}",
    ]


def _run(row: Row) -> dict[str, object]:
    names = ANNOTATED_FIGURES if row.search == ANNOTATED else (*FIGURES, "overlap_f1", "low", "high")
    figures: Figures = {name: row.figures[name] for name in names}
    described: dict[str, object] = {
        "row": row.row,
        "dataset": row.dataset,
        "split": row.split,
        "detector": row.search,
        "linker": row.ranking,
    }
    return {**described, **figures, "parameters": row.parameters, "hours": row.hours}


def _differences(store: Store, rows: Sequence[Row]) -> list[str]:
    problems = []
    for row in rows:
        try:
            task, predictions = task_of(row), store.predictions(row)
            again = figures_of(row.search, task, predictions)
        except (OnymError, OSError, ValueError) as e:
            problems.append(f"{row.row}: {e}")
            continue
        problems += [f"{row.row}: {what}" for what in differences(row.figures, again)]
        warn_of_other_kb(row, predictions, task.kb)
    return problems


def _rerun(store: Store, key: str) -> list[str]:
    """Predict the first documents of a row again, and return the differences."""
    row = next((row for row in store.rows() if row.row == key), None)
    if row is None:
        return [f"{key}: no such row"]
    if "confidence" in json.loads(row.model_folder):
        return [f"{key}: it is made of the row that has its key without +confidence: rerun that one"]
    task, kept = task_of(row), store.predictions(row)
    again = predict_with(open_system(json.loads(row.model_folder), task), task, _RERUN)
    ids = {doc.id for doc in task.documents[:_RERUN]}
    own = {mention: answers for mention, answers in kept.answers.items() if mention[0] in ids}
    alone = sorted(own.keys() ^ again.answers.keys())
    problems = [f"{key}: {document} {start}-{end}: found by one alone" for document, start, end in alone]
    shared = own.keys() & again.answers.keys()
    differing = ((mention, unlike(own[mention], again.answers[mention])) for mention in sorted(shared))
    return problems + [f"{key}: {mention}: {why}" for mention, why in differing if why]
