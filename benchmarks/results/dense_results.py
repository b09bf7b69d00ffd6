"""Recompute all figures of the dense linker from the stored predictions, and check the results page.

The options are those of `generative-results`. `best` has the figures of the row that is best on dev, by dataset. `askapatient`
has the means over the folds, for the configuration that is best on the dev mentions of all folds.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.results.check import add_options, check
from benchmarks.results.generative_results import PRECISIONS
from benchmarks.results.page import NO_ROWS, Section, slices, tables, tabulate_dev_scores
from benchmarks.results.store import Curve, Row, Store, best, between, table
from benchmarks.results.tasks import FOLDS
from onym.kb import KnowledgeBase
from onym.methods.dense.index.kinds import KINDS
from onym.methods.dense.linker import DenseLinker
from onym.models.settings import EncoderSettings, read_settings

__all__ = ["add_options"]

SEARCHES = tuple(KINDS)
RANKINGS = ("own", "dot", "cosine")
_ANSWERS = 10


def open_linker(folder: Path, kb: KnowledgeBase, search: str, ranking: str) -> DenseLinker:
    """Open a dense linker; `ranking` overrides the similarity function of the encoder."""
    similarity = None if ranking == "own" else ranking
    return DenseLinker.from_pretrained(folder, kb, index=search, encoder=read_settings(folder).update(similarity=similarity))


def open_as_said(folder: Path, kb: KnowledgeBase, config: dict[str, Any]) -> DenseLinker:
    """Open a dense linker with the settings recorded in its predictions."""
    encoder = EncoderSettings(**{name: config[name] for name in EncoderSettings.model_fields})
    dtype = PRECISIONS[config["precision"]]
    return DenseLinker.from_pretrained(folder, kb, encoder=encoder, dtype=dtype, index=config["index"])


def count_kept_answers(_kb: KnowledgeBase) -> int:
    """Return how many concepts are stored per mention."""
    return _ANSWERS


KEYS = (
    "ncbi_disease_biosyn",
    "bc5cdr_disease_biosyn",
    "ncbi_disease_open",
    "bc5cdr",
    "biored_disease",
    "biored_chemical",
    "hpo_gsc",
)
ALL_FOLDS = "askapatient"
FOLD_KEYS = tuple(f"askapatient_fold{fold}" for fold in range(FOLDS))
STAGES = {
    "start": "",
    "aligned": "start",
    "aligned-medic": "start",
    "finetuned": "start",
    "aligned-finetuned": "aligned",
    "aligned-medic-finetuned": "aligned-medic",
}
"""Off the shelf; aligned on the open knowledge base, or on MEDIC; fine-tuned on a corpus without and with that before."""
_PAPER = "Liu and others 2021, table 2"
PUBLISHED = (
    ("PubMedBERT off the shelf", "PubMedBERT, 110 M", "77.8 / 86.9", "89.0 / 93.8", "42.5 / 49.6", _PAPER),
    ("SapBERT, aligned on UMLS", "PubMedBERT, 110 M", "92.0 / 95.6", "93.5 / 96.0", "70.5 / 88.9", _PAPER),
    ("SapBERT, fine-tuned", "PubMedBERT, 110 M", "92.3 / 95.5", "93.2 / 95.4", "89.0 / 96.2", _PAPER),
    ("best with labels before (BioSyn; Gen-Rank)", "BioBERT, 110 M", "91.1 / 93.9", "93.2 / 96.0", "87.5 / -", _PAPER),
)


def page_with(rows: Sequence[Row], curves: Mapping[str, Curve], page: str) -> str:
    """Return the page with the tables of these rows and curves."""
    whole = [row for row in rows if row.dataset in KEYS]
    page = between(page, "dense", tables(whole, KEYS, tuple(STAGES)))
    page = between(page, "dense-folds", folds([row for row in rows if row.dataset in FOLD_KEYS]))
    page = between(page, "dense-slices", slices(whole))
    page = between(page, "dense-curves", tabulate_dev_scores(curves))
    return between(page, "dense-published", tabulate_published())


def folds(rows: Sequence[Row]) -> str:
    """Return a table of AskAPatient test results, averaged over the folds as in published work."""
    if not rows:
        return NO_ROWS
    header = ("stage", "start", "search", "ranking", "folds", "any-id R@1", "lowest–highest", "strict R@1", "any-id R@5")
    tests = sorted((row for row in rows if row.split == "test"), key=lambda row: list(STAGES).index(row.stage))
    settings = dict.fromkeys(row.configuration for row in tests)
    return table(header, [_folds([row for row in tests if row.configuration == configuration]) for configuration in settings])


def _folds(rows: Sequence[Row]) -> list[str]:
    first = [row.figures["any_id_r1"] for row in rows]
    means = fold_means(rows)
    return [
        rows[0].stage,
        rows[0].model,
        rows[0].search,
        rows[0].ranking,
        str(len(rows)),
        f"{means['any_id_r1']:.1f}",
        f"{min(first):.1f}–{max(first):.1f}",
        f"{means['strict_r1']:.1f}",
        f"{means['any_id_r5']:.1f}",
    ]


def fold_means(rows: Sequence[Row]) -> dict[str, float]:
    """Return the means of figures over rows."""
    return {name: round(mean(row.figures[name] for row in rows), 1) for name in ("any_id_r1", "strict_r1", "any_id_r5")}


def tabulate_published() -> str:
    """Return the table of published figures."""
    return table(("system", "model", "NCBI disease", "BC5CDR disease", "AskAPatient", "source"), PUBLISHED)


_BEST = ("r1", "any_id_r1", "strict_r1", "r5")


def best_figures(rows: Sequence[Row]) -> dict[str, dict[str, object]]:
    """Return the figures of the rows that are best on dev."""
    named = {row.row: row for row in rows}
    found: dict[str, dict[str, object]] = {}
    for dataset, key in best([row for row in rows if row.dataset in KEYS]).items():
        found[dataset] = {"row": key, **{name: named[key].figures[name] for name in _BEST if name in named[key].figures}}
    if folds := best_folds([row for row in rows if row.dataset in FOLD_KEYS]):
        found[ALL_FOLDS] = {"folds": len(folds), "stage": folds[0].stage, **fold_means(folds)}
    return found


def best_folds(rows: Sequence[Row]) -> list[Row]:
    """Return the test rows of the configuration with the most correct answers on dev, over all folds."""
    hits: dict[tuple[str, str, str, str], float] = {}
    for row in rows:
        if row.split == "dev":
            hits[row.configuration] = hits.get(row.configuration, 0) + row.figures["hits"]
    configuration = max(hits, key=lambda each: (hits[each], each), default=None)
    return [row for row in rows if row.split == "test" and row.configuration == configuration]


SECTION = Section(
    name="dense",
    keys=KEYS + FOLD_KEYS,
    stages=STAGES,
    searches=SEARCHES,
    rankings=RANKINGS,
    open=open_linker,
    open_as_said=open_as_said,
    answers=count_kept_answers,
    page_with=page_with,
    best_figures=best_figures,
    figures=("r1", "any_id_r1", "strict_r1", "r5", "low", "high", "mentions", "in_kb"),
    usual_start="minilm",
)


def run(options: argparse.Namespace, store: Store | None = None) -> dict[str, object]:
    return check(SECTION, options, store)
