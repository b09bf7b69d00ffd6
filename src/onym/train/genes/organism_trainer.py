"""`onym train organisms`: train the trees of the organism linker, which links species and cell lines.

The documents are divided into folds, as for gene linkers: the figures and the calibration are of the folds that the trees
have not seen. The memory features of a document ignore its own mentions.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from onym.methods.genes.taxa import OrganismNames
from onym.methods.genes.taxon_features import TaxonFacts, TaxonPairs
from onym.methods.genes.taxon_model import MEMORY, write_organism_trees
from onym.methods.trees.memory import write_memory
from onym.store.markdown import code, table
from onym.store.output import whole_folder
from onym.train.card import ORIGIN_NOTE, corpora_table, describe_machine, format_card, kb_line, write_record
from onym.train.configs import OrganismsTrainingConfig
from onym.train.genes.trainer import AnnotatedContext, Best, FeatureRows, RowCollector, best_of, calibrate, fit, predict_folds

_log = logging.getLogger("onym.train")


def train_organisms(config: OrganismsTrainingConfig, dest: Path, data: Path | None = None) -> Path:
    """Train an organism model and write it to `dest`. The same configuration and data give the same trees."""
    context = OrganismsContext(config, data)
    rows = context.rows
    _log.info("%d mentions, %d rows", rows.mentions, len(rows.matrix))
    best = best_of(rows, predict_folds(rows, config.trees, config.folds))
    calibration, quality = calibrate(best)
    metrics = {"cross_validation": figures(context, best), **quality}
    _log.info("%s", metrics)
    trees = fit(rows, config.trees)
    sizes = {"trees": len(trees.roots), "nodes": len(trees.feature)}
    record = context.origin | sizes | {"metrics": metrics} | describe_machine("numpy", "scikit-learn")
    with whole_folder(dest) as folder:
        write_memory(context.counts, record["corpora"], folder.path / MEMORY)
        write_organism_trees(folder.path, trees, calibration, context.kb.digest, record)
        write_record(folder, record, card(record))
    return dest


@dataclass(frozen=True)
class OrganismsContext(AnnotatedContext[OrganismsTrainingConfig]):
    """Inputs of a training run of an organism model."""

    @cached_property
    def rows(self) -> FeatureRows:
        """A row for each pair of a mention and a candidate."""
        facts = TaxonFacts(OrganismNames.open(self.kb), self.memory)
        collected, number = RowCollector([], [], [], []), 0
        for _, doc in self.documents:
            pairs = TaxonPairs(doc, facts, self.own(doc))
            for row in range(len(doc.mentions)):
                concepts, matrix = pairs.features(row)
                collected.add(number, concepts, matrix, self.gold[number])
                number += 1
        return collected.rows(self.folds)


def figures(context: OrganismsContext, best: Best) -> dict[str, dict[str, float]]:
    """Return, by corpus: recall@1 and its upper bound, in percent of all gold mentions."""
    reachable = np.bincount(context.rows.owners, context.rows.is_right, minlength=context.rows.mentions) > 0
    found: dict[str, dict[str, float]] = {}
    for corpus in dict.fromkeys(context.corpus_of.tolist()):
        is_own = context.corpus_of == corpus
        rates = {"strict_r1": best.is_right, "candidates_with_gold": reachable}
        found[corpus] = {name: round(100 * float(values[is_own].mean()), 1) for name, values in rates.items()}
        found[corpus]["mentions"] = int(is_own.sum())
    return found


def card(record: Mapping[str, Any]) -> str:
    """Return the card of an organism model, as Markdown."""
    does = [
        "Gradient-boosted trees choose the species or the cell line of a mention. `memory` holds how often a name was",
        "annotated with each of them in the training documents of these corpora.",
    ]
    facts = [kb_line(record["kb"]), f"- Trees: {record['trees']:,}, with {record['nodes']:,} nodes"]
    usage = code("console", "$ onym link --kb KB_FOLDER --linker organisms --model THIS_FOLDER corpus.pubtator")
    header = {"cross-validation": "---", "strict recall@1": "--:", "gold is a candidate": "--:", "mentions": "--:"}
    rows = (
        (name, *(f"{each[key]:.1f}" for key in ("strict_r1", "candidates_with_gold")), f"{each['mentions']:,}")
        for name, each in record["metrics"]["cross_validation"].items()
    )
    title = "A linker of species and cell lines"
    return format_card(title, does, facts, corpora_table(record), table(header, rows), usage, [ORIGIN_NOTE])
