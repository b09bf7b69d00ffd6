"""Recompute all figures of the reranker from the stored predictions, over the open, joined knowledge base.

best                 test figures by dataset and type: strict recall@1 on mentions whose gold ids are in the knowledge base, on
                     all mentions, and on surfaces that are in no training document; also any-id recall@1
dev                  dev figures, which selected the configuration
alone                test figures of linkers without the reranker, over the same knowledge base, with ties broken
ablation             dev figures without each group of features (`python -m benchmarks.results.rerank_ablation`)
papers, papers_dev   figures under the papers' evaluation settings (`benchmarks.results.papers`)

Fails if a figure differs from the stored one, or if predictions or ablation were made with another knowledge base. `--quick`
recomputes one row of each.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from benchmarks.results.check import page_problems
from benchmarks.results.papers import rows as papers
from benchmarks.results.rerank_ablation import FILE as ABLATION
from benchmarks.results.rerank_predict import read_rows
from benchmarks.results.rerank_rows import ALONE, KINDS, file_of, judge
from benchmarks.results.store import between, differences, table
from benchmarks.results.tasks import open_kb_joined
from onym.kb import KnowledgeBase
from onym.outputs.predictions import read_predictions

QUICK = ("ncbi_disease",)
Rows = dict[str, dict[str, dict[str, object]]]
_BEST = ("strict_r1", "strict_r1_all", "any_id_r1", "unseen_strict_r1", "low", "high", "mentions", "in_kb", "ece", "auroc")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="write the tables of the results page")


def run(options: argparse.Namespace) -> dict[str, object]:
    rows, of_papers, kb = read_rows(), papers.read_rows(), open_kb_joined()
    alone = {linker: read_rows(linker) for linker in ALONE}
    problems = papers.problems_of(of_papers, is_quick=options.quick)
    for linker, own in {"": rows, **alone}.items():
        for key in QUICK if options.quick else KINDS:
            problems += [what for split, row in own.get(key, {}).items() for what in _differences(linker, key, split, row, kb)]
    problems += ablation_problems(kb)
    problems += page_problems(
        "rerank-results",
        lambda page: papers.page_with(of_papers, page_with(rows, alone, page)),
        is_written=options.write and not problems,
    )
    if problems or not rows:
        sys.exit("\n".join(problems) or "no rows stored yet; run python -m benchmarks.results.rerank_predict")
    ablated = {without: {name: row["strict_r1"] for name, row in own.items()} for without, own in ablation().items()}
    return {
        "best": _of_split(rows, "test"),
        "dev": _of_split(rows, "dev"),
        "alone": {linker: _of_split(own, "test") for linker, own in alone.items()},
        "ablation": ablated,
        "papers": papers.figures_of(of_papers, "test"),
        "papers_dev": papers.figures_of(of_papers, "dev"),
    }


def _of_split(rows: Rows, split: str) -> dict[str, object]:
    return {key: _select_figures(_figures(row[split]["figures"])) for key, row in rows.items() if split in row}


def _differences(linker: str, key: str, split: str, row: dict[str, object], kb: KnowledgeBase) -> list[str]:
    """Score a stored row again, and return the differences."""
    predictions, where = read_predictions(file_of(KINDS[key].dataset, split, linker)), f"{linker} {key} {split}".strip()
    own = predictions.source["kb"]["digest"]
    other = [f"{where}: made with the knowledge base {own}"] if own != kb.digest else []
    return other + [f"{where}: {what}" for what in differences(_figures(row["figures"]), judge(key, split, kb, predictions))]


def page_with(rows: Rows, alone: dict[str, Rows], page: str) -> str:
    """Return the page with a table of the rows, and one of the linkers without the reranker."""
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
    page = between(page, "rerank", table(header, lines))
    by_linker = {**{name: own for name, own in alone.items() if own}, "reranker": rows}
    bare = [[f"`{KINDS[key].name}`", *(_alone(own.get(key, {})) for own in by_linker.values())] for key in KINDS]
    page = between(page, "rerank-alone", table(("mentions, test", *by_linker), bare))
    ablated = [[without, *(f"{row['strict_r1']:.1f}" for row in own.values())] for without, own in ablation().items()]
    return between(page, "rerank-ablation", table(("without", "`ncbi-disease`", "`bc5cdr`", "`biored`"), ablated))


def ablation() -> dict[str, dict[str, dict[str, float]]]:
    """Return the dev figures without each group of features."""
    found: dict[str, dict[str, dict[str, float]]] = _read_ablation().get("without", {})
    return found


def ablation_problems(kb: KnowledgeBase) -> list[str]:
    """Return a problem if the ablation was made with another knowledge base."""
    own = _read_ablation().get("kb", kb.digest)
    return [] if own == kb.digest else [f"ablation: made with the knowledge base {own}"]


def _read_ablation() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ABLATION.read_text("utf-8")) if ABLATION.is_file() else {}
    return found


def _alone(row: dict[str, dict[str, object]]) -> str:
    """Return the strict recall@1 of a test row, and in brackets the recall@1 on unseen surfaces."""
    figures = _figures(row["test"]["figures"]) if "test" in row else {}
    return f"{figures['strict_r1']:.1f} ({figures['unseen_strict_r1']:.1f})" if figures else ""


def _line(key: str, split: str, figures: dict[str, float]) -> list[str]:
    shares = [f"{figures[name]:.1f}" for name in ("strict_r1_all", "any_id_r1", "seen_strict_r1", "unseen_strict_r1")]
    interval = f"{figures['low']:.1f}–{figures['high']:.1f}"
    counts = f"{figures['in_kb']:,.0f} of {figures['mentions']:,.0f}"
    return [f"`{KINDS[key].name}`", split, f"{figures['strict_r1']:.1f}", interval, *shares, counts, f"{figures['ece']:.3f}"]


def _figures(value: object) -> dict[str, float]:
    return {str(name): float(figure) for name, figure in value.items()} if isinstance(value, dict) else {}


def _select_figures(figures: dict[str, float]) -> dict[str, float]:
    return {name: figures[name] for name in _BEST if name in figures}
