"""The tables of docs/reference/results.md for the dense linker, and what others have published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from benchmarks.results.page import NO_ROWS, learnt, slices, tables
from benchmarks.results.store import Curve, Row, between, table
from benchmarks.results.tasks import FOLDS

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
    page = between(page, "dense-curves", learnt(curves))
    return between(page, "dense-published", published())


def folds(rows: Sequence[Row]) -> str:
    """Return a table of the test rows of all folds of AskAPatient: means over the folds, as they are published."""
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


def published() -> str:
    """Return the table of published figures."""
    return table(("system", "model", "NCBI disease", "BC5CDR disease", "AskAPatient", "source"), PUBLISHED)
