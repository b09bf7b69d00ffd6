"""Compare any-id with one-id scoring on the published predictions of BELB.

Predictions and gold of BELB's experiments are joined by `hexdigest`. A prediction is a name; if several concepts share the
name, it has several ids, which count as a tie. The figures use three protocols: under `any_id`, one of the ids must be in gold;
under `strict`, the prediction must be a single id that is in gold; under `whole_set`, it must have all ids of a composite
mention.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.report import data_folder
from onym.evaluate.cases import Case, ranking_of
from onym.evaluate.metrics import score
from onym.store.files.json import iter_items, iter_pairs
from onym.store.files.source import InputFile

CORPORA = {"gnormplus": "gnormplus", "ncbi": "ncbi_disease"}
PROTOCOLS = {"any_id": "any-id", "strict": "one-id", "whole_set": "strict"}


def run(_options: argparse.Namespace) -> dict[str, object]:
    folder = data_folder() / "belb_exp"
    figures: dict[str, object] = {}
    for key, corpus in CORPORA.items():
        cases = cases_of(folder, corpus, "genbioel")
        figures[f"{key}_mentions"] = len(cases)
        for suffix, protocol in PROTOCOLS.items():
            figures[f"{key}_{suffix}"] = round(100 * score(cases, protocol, [1]).recall[1], 2)
    return figures


def cases_of(folder: Path, corpus: str, system: str) -> list[Case]:
    """Return the published predictions of a system, paired with gold."""
    gold = dict(iter_pairs(InputFile.from_path(folder / "gold.json.gz"), corpus))
    predictions = iter_items(InputFile.from_path(folder / corpus / f"{system}.predictions.json.gz"), "item")
    return [_case(prediction, gold[prediction["hexdigest"]]) for prediction in predictions]


def _case(prediction: dict[str, Any], gold: list[Any]) -> Case:
    names = enumerate(prediction["y_pred"])  # sorted, best first; there are no scores
    answers = [([str(concept_id)], -float(rank)) for rank, ids in names for concept_id in dict.fromkeys(ids)]
    return Case(prediction["eid"], frozenset(map(str, gold)), (ranking_of(answers),))
