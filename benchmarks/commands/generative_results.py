"""Every figure of the generative linker, computed again from the kept predictions; and the page that shows them.

Fails where a figure is not what results/generative says, or where docs/reference/results.md does not show it; `--write` writes
the page. `--rerun ROW` predicts about 130 mentions of a row again with the kept model. `--quick` computes the figures of
benchmarks whose knowledge base is built in seconds, and takes the others as they are kept.
"""

from __future__ import annotations

import argparse

from benchmarks.results.check import add_options, check
from benchmarks.results.generative_model import RANKINGS, SEARCHES, max_answers, open_as_said, open_linker
from benchmarks.results.generative_page import ABLATIONS, COMPARED, KEYS, page_with
from benchmarks.results.section import Section
from benchmarks.results.store import Store, best

__all__ = ["SECTION", "add_options", "run"]

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
