"""Relate the wrong answers of the stored predictions to the gold concepts: parent, child, mapped, sibling, farther, apart.

Uses the test splits of BC5CDR, NCBI disease and BioRED, protocol `strict`. The knowledge bases of the predictions are built
again in a temporary folder: the joined one for exact match, TF-IDF and the reranker, the open one for the dense and generative
linkers, with the rows selected on dev. The stored predictions of these two have unresolved ties, which are partly right.

`near_pct` is the share of parents, children, mapped headings and siblings among the wrong answers, without those that are
partly right and those whose gold concept is not in the KB. `slowest_s` is the most CPU time that one evaluation took for it.

Fails if the results page has other figures; `--write` writes them. `--quick` relates the answers on NCBI disease over MeSH
descriptors and MONDO, and leaves the page alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmarks.accuracy.kb_open import JOINED, RECIPE, build_open_kb, make_joined_recipe
from benchmarks.report import data_folder, percent
from benchmarks.results.check import page_problems
from benchmarks.results.rerank_rows import ALONE, TYPES, file_of, open_of_types
from benchmarks.results.store import FOLDER, Store, best, between, table
from benchmarks.results.tasks import KINDS
from onym.evaluate.evaluation import make_cases
from onym.evaluate.metrics import gold_ranks
from onym.evaluate.near_misses import APART, CHILD, FARTHER, MAPPED, PARENT, RELATIONS, SIBLING, NearMisses, find_near_misses
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.outputs.predictions import read_predictions

OF_CORPORA = {
    "bc5cdr": ("bc5cdr",),
    "ncbi-disease": ("ncbi_disease_open",),
    "biored": ("biored_disease", "biored_chemical"),
}
"""The corpora, each with its rows of linkers over the open knowledge base."""
QUICK = "ncbi-disease"
FULL_BOUNDS = MappingProxyType({"slowest_s": 2.0})
_SPLIT = "test"

Figures = dict[str, dict[str, dict[str, Any]]]
"""Counts by corpus and model."""


class Part(NamedTuple):
    """Stored predictions for the mentions of a dataset; empty `types` are all types."""

    dataset: str
    types: tuple[str, ...]
    path: Path


class System(NamedTuple):
    """A model evaluated on a corpus. `parts` are its stored predictions, such as those for diseases and for chemicals."""

    corpus: str
    model: str
    parts: list[Part]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="write the table of the results page")


def run(options: argparse.Namespace) -> dict[str, object]:
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for kb, systems in _quick_systems(Path(folder)) if options.quick else _systems(Path(folder)):
            for system in systems:
                figures.setdefault(system.corpus, {})[system.model] = measure(system, kb)
    if not options.quick and (
        problems := page_problems("near-misses", lambda page: page_with(figures, page), is_written=options.write)
    ):
        sys.exit("\n".join(problems))
    times = [model.pop("seconds") for models in figures.values() for model in models.values()]
    return {**figures, "slowest_s": max(times)}


def _systems(folder: Path) -> Iterator[tuple[KnowledgeBase, Iterable[System]]]:
    yield build_open_kb(folder / "joined", JOINED), [each for corpus in OF_CORPORA for each in over_joined(corpus)]
    yield build_open_kb(folder / "open", RECIPE), [each for corpus in OF_CORPORA for each in over_open(corpus)]


def _quick_systems(folder: Path) -> Iterator[tuple[KnowledgeBase, Iterable[System]]]:
    build_kb(make_joined_recipe(quick=True), folder / "quick", root=data_folder())
    yield KnowledgeBase.open(folder / "quick"), over_joined(QUICK)


def over_joined(corpus: str) -> Iterator[System]:
    """Yield the systems over the joined knowledge base."""
    for linker in (*ALONE, ""):
        yield System(corpus, linker or "reranker", [Part(corpus, TYPES[corpus], file_of(corpus, _SPLIT, linker))])


def over_open(corpus: str) -> Iterator[System]:
    """Yield the systems over the open knowledge base: of each linker the one that is best on dev."""
    for linker in ("dense", "generative"):
        store = Store(FOLDER / linker)
        rows = {row.row: row for row in store.rows()}
        chosen = best(list(rows.values()))
        parts = [
            Part(KINDS[key].dataset, tuple(filter(None, [KINDS[key].of_type])), store.folder / rows[chosen[key]].file)
            for key in OF_CORPORA[corpus]
            if key in chosen
        ]
        if parts:
            yield System(corpus, linker, parts)


def measure(system: System, kb: KnowledgeBase) -> dict[str, Any]:
    """Return the number of errors of each relation."""
    cases = [case for part in system.parts for case in make_cases(_task(part, kb), read_predictions(part.path))]
    ranks = gold_ranks(cases, "strict")
    start = time.process_time()
    found = find_near_misses(cases, ranks, kb)
    seconds = round(time.process_time() - start, 2)
    if found is None:
        sys.exit("the knowledge base has no hierarchy")
    return {"errors": found.total, **found.counts, "near_pct": near_percent(found), "seconds": seconds}


def _task(part: Part, kb: KnowledgeBase) -> EvaluationTask:
    return EvaluationTask(open_of_types(part.dataset, part.types), _SPLIT, kb)


def near_percent(found: NearMisses) -> float:
    """Return the share of near misses among the answers that are wholly wrong and can be related."""
    near = sum(found.counts[each] for each in (PARENT, CHILD, MAPPED, SIBLING))
    return percent(near, near + found.counts[FARTHER] + found.counts[APART])


def page_with(figures: Figures, page: str) -> str:
    """Return the page with the table of these figures."""
    lines = [
        [f"`{corpus}`", model, f"{own['errors']:,}", *(f"{own[each]:,}" for each in RELATIONS), f"{own['near_pct']:.1f}"]
        for corpus, models in figures.items()
        for model, own in models.items()
    ]
    return between(page, "near-misses", table(("corpus", "linker", "errors", *RELATIONS, "near, %"), lines))
