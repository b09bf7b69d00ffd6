"""Recompute all figures of the generative linker from the stored predictions, and check the results page.

Fails if a figure differs from results/generative or is missing from results/tables.md; `--write` writes the
page. `--rerun ROW` predicts about 130 mentions of a row again with the stored model. `--quick` recomputes only the datasets
whose knowledge base is built in seconds, and trusts the stored figures of the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results.check import add_options, check
from benchmarks.results.page import NO_ROWS, Section, p_of, shares, slices, tables, tabulate_dev_scores
from benchmarks.results.store import Curve, Row, Store, best, between, table
from benchmarks.results.tasks import ONE_NAME
from onym.kb import KnowledgeBase
from onym.methods.generative.linker import GenerativeLinker
from onym.models.device import Precision

__all__ = ["add_options"]

SEARCHES = ("beam5", "exact")
RANKINGS = ("mean", "sum")
PRECISIONS: dict[str, Precision] = {"bfloat16": "bf16", "float32": "fp32"}
_WIDTH = 5


def open_linker(folder: Path, kb: KnowledgeBase, search: str, ranking: str) -> GenerativeLinker:
    """Open a linker that returns the five best names, with the model's own template and window."""
    name = "beam" if search == "beam5" else "exact"
    return GenerativeLinker.from_pretrained(folder, kb, search=name, ranking=ranking, width=_WIDTH)


def open_as_said(folder: Path, kb: KnowledgeBase, config: dict[str, Any]) -> GenerativeLinker:
    """Open a linker with the settings recorded in its predictions."""
    options = {name: config[name] for name in ("template", "window", "pooling")}
    linker = GenerativeLinker.from_pretrained(folder, kb, dtype=PRECISIONS[config["precision"]], **options)
    return linker.with_search(**config["search"])


def max_answers(kb: KnowledgeBase) -> int:
    """Return the maximum number of concepts that five names can have in total."""
    return _WIDTH * int(np.diff(kb.name_concepts.offsets).max(initial=1))


KEYS = ("ncbi_disease", ONE_NAME, "ncbi_disease_open", "bc5cdr", "askapatient_fold0", "askapatient_fold0_labels")
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
    "ablation-target-short-name": ("the shortest name is learnt", _USUAL),
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


def page_with(rows: Sequence[Row], curves: Mapping[str, Curve], page: str) -> str:
    """Return the page with the tables of these rows and curves."""
    whole = [row for row in rows if row.stage not in ABLATIONS]
    page = between(page, "generative", tables(whole, KEYS, tuple(STAGES)))
    page = between(page, "slices", slices(whole))
    page = between(page, "ablations", ablations([row for row in rows if row.stage in ABLATIONS]))
    page = between(page, "curves", tabulate_dev_scores(curves))
    return between(page, "published", tabulate_published())


def ablations(rows: Sequence[Row]) -> str:
    """Return the ablation table: training runs that differ in one setting."""
    if not rows:
        return NO_ROWS
    header = ("what differs", "names at inference", "search", "ranking", "any-id R@1", "95 %", "any-id R@5", "p")
    order = sorted(rows, key=lambda row: (list(ABLATIONS).index(row.stage), row.dataset, row.search, row.ranking))
    return table(header, [_ablation(row) for row in order])


def tabulate_published() -> str:
    """Return the table of published figures."""
    return table(("system", "model", "NCBI disease", "BC5CDR", "AskAPatient", "source"), PUBLISHED)


def _ablation(row: Row) -> list[str]:
    names = "one" if row.dataset == ONE_NAME else "all"
    return [ABLATIONS[row.stage][0], names, row.search, row.ranking, *shares(row), p_of(row)]


SECTION = Section(
    name="generative",
    keys=KEYS,
    stages=COMPARED,
    searches=SEARCHES,
    rankings=RANKINGS,
    open=open_linker,
    open_as_said=open_as_said,
    answers=max_answers,
    page_with=page_with,
    figures=("any_id_r1", "strict_r1", "r5", "low", "high", "mentions", "in_kb"),
    usual_start="flan-t5-small",
    best_figures=lambda rows: best([row for row in rows if row.stage not in ABLATIONS]),
)


def run(options: argparse.Namespace, store: Store | None = None) -> dict[str, object]:
    return check(SECTION, options, store)
