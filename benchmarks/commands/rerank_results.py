"""Every figure of the reranker, computed again from the kept predictions, over the open, joined knowledge base.

`best` has the test row of each dataset and type: strict recall@1 on mentions whose gold ids are in the knowledge base and on
all, any-id, and strict on surfaces that no training document has. `dev` has the figures that the configuration was chosen by.
`papers` and `papers_dev` have the rows of the papers' own tables, by their protocol (`benchmarks.results.papers`).
Where a figure is not the one that is kept, or the predictions are of another knowledge base, the benchmark fails. `--quick`
computes one row of each again.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.results.check import page_problems
from benchmarks.results.papers import rows as papers
from benchmarks.results.rerank_predict import kept_rows
from benchmarks.results.rerank_rows import KINDS, file_of, judge
from benchmarks.results.store import between, differences, table
from benchmarks.results.tasks import open_kb_joined
from onym.predictions.file import read_predictions

QUICK = ("ncbi_disease",)
Rows = dict[str, dict[str, dict[str, object]]]
_BEST = ("strict_r1", "strict_r1_all", "any_id_r1", "unseen_strict_r1", "low", "high", "mentions", "in_kb", "ece", "auroc")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="write the table of the page")


def run(options: argparse.Namespace) -> dict[str, object]:
    rows, of_papers, kb = kept_rows(), papers.kept_rows(), open_kb_joined()
    problems = papers.problems_of(of_papers, is_quick=options.quick)
    for key in QUICK if options.quick else KINDS:
        for split, row in rows.get(key, {}).items():
            predictions = read_predictions(file_of(KINDS[key].dataset, split))
            if predictions.source["kb"]["digest"] != kb.digest:
                problems.append(f"{key} {split}: made with the knowledge base {predictions.source['kb']['digest']}")
            figures = row["figures"]
            found = judge(key, split, kb, predictions)
            problems += [f"{key} {split}: {what}" for what in differences(_figures(figures), found)]
    is_written = options.write and not problems
    problems += page_problems("rerank", lambda page: papers.page_with(of_papers, page_with(rows, page)), is_written=is_written)
    if problems or not rows:
        sys.exit("\n".join(problems) or "there are no rows: python -m benchmarks.results.rerank_predict makes them")
    best, dev = (
        {key: _shown(_figures(row[split]["figures"])) for key, row in rows.items() if split in row} for split in ("test", "dev")
    )
    of_test, of_dev = (papers.figures_of(of_papers, split) for split in ("test", "dev"))
    return {"best": best, "dev": dev, "papers": of_test, "papers_dev": of_dev}


def page_with(rows: Rows, page: str) -> str:
    """Return the page with a table of the rows."""
    header = (
        "mentions",
        "split",
        "strict R@1",
        "95 %",
        "of all gold",
        "any-id R@1",
        "seen",
        "unseen",
        "mentions in the KB",
        "ECE",
    )
    lines = [_line(key, split, _figures(row["figures"])) for key in KINDS for split, row in sorted(rows.get(key, {}).items())]
    return between(page, "rerank", table(header, lines))


def _line(key: str, split: str, figures: dict[str, float]) -> list[str]:
    shares = [f"{figures[name]:.1f}" for name in ("strict_r1_all", "any_id_r1", "seen_strict_r1", "unseen_strict_r1")]
    interval = f"{figures['low']:.1f}–{figures['high']:.1f}"
    counts = f"{figures['in_kb']:,.0f} of {figures['mentions']:,.0f}"
    return [f"`{key}`", split, f"{figures['strict_r1']:.1f}", interval, *shares, counts, f"{figures['ece']:.3f}"]


def _figures(value: object) -> dict[str, float]:
    return {str(name): float(figure) for name, figure in value.items()} if isinstance(value, dict) else {}


def _shown(figures: dict[str, float]) -> dict[str, float]:
    return {name: figures[name] for name in _BEST if name in figures}
