"""`onym train rerank`: memory, candidates, features, trees, figures on dev, calibration, in this order."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from onym.train.rerank.collate import Pairs, joined, pairs_of
from onym.train.rerank.config import RerankTrainingConfig
from onym.train.rerank.context import RerankContext
from onym.train.rerank.dev import Outcomes, calibrated, figures_of, outcomes_of
from onym.train.rerank.publish import publish
from onym.train.rerank.trainer import fit_trees

_log = logging.getLogger("onym.train")


def train_reranker(config: RerankTrainingConfig, dest: Path, data: Path | None = None) -> Path:
    """Train a reranker and publish it at `dest`. The same configuration and data give the same trees."""
    context = RerankContext(config, data)
    columns = context.columns
    trees = fit_trees(training_pairs(context), columns, config.trees)
    _log.info("%d trees over %d features", len(trees.roots), len(columns))
    outcomes: dict[str, Outcomes] = {}
    metrics: dict[str, Any] = {"dev": {}}
    for dataset in context.datasets:
        if config.dev.split in dataset.splits:
            pairs = pairs_of(context, context.of_types(dataset.documents(config.dev.split)), is_training=False)
            outcomes[dataset.name] = outcomes_of(trees, columns, pairs)
            metrics["dev"][dataset.name] = figures_of(pairs, outcomes[dataset.name])
            _log.info("%s: %s", dataset.name, metrics["dev"][dataset.name])
    calibration = None
    if config.dev.calibrate and outcomes:
        calibration, quality = calibrated(outcomes)
        metrics |= quality
    publish(context, trees, calibration, metrics, dest)
    return dest


def training_pairs(context: RerankContext) -> Pairs:
    """Return the pairs of all training documents, each document's own mentions left out of the memory."""
    found, before = [], 0
    for corpus in context.corpora:
        _log.info("%s: %d documents, left out %s", corpus.name, len(corpus.documents), corpus.left_out)
        pairs = pairs_of(context, corpus.documents, is_training=True)
        found.append(pairs._replace(owners=pairs.owners + before))
        before += len(pairs.is_in_kb)
    return joined(found)
