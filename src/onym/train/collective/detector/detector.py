"""The detect stage: spans of several corpora, each with the labels that its corpus speaks about."""

from __future__ import annotations

import logging

from onym.train.collective.detector.context import DetectorContext
from onym.train.collective.detector.windows import LabelledCollate, LabelledWindows
from onym.train.collective.trainer import CollectiveTrainer

_log = logging.getLogger("onym.train")


def detect(context: DetectorContext) -> CollectiveTrainer:
    """Train on the documents of all corpora; an interrupted run resumes."""
    start, optim, tokenizer = context.config.start, context.config.optim, context.tokenizer
    for corpus in context.training:
        _log.info("%s: %d documents, left out %s", corpus.name, len(corpus.documents), corpus.left_out)
    room = start.window - len(tokenizer.before) - len(tokenizer.after)
    windows = LabelledWindows(context.corpora, tokenizer, room=room, overlap=start.overlap, seed=optim.seed)
    if optim.epochs:
        optim = optim.model_copy(update={"steps": max(1, int(optim.epochs * windows.epoch / context.samples_per_step))})
    _log.info("%d labels, %d windows in an epoch; %d steps", len(context.labels), windows.epoch, optim.steps)
    trainer = CollectiveTrainer(
        context.model,
        windows.with_count(optim.steps * context.samples_per_step),
        LabelledCollate(tokenizer, context.model.config.pad_token_id, len(context.labels), start.max_span_tokens),
        context.work,
        optim,
        dev=context.dev,
        patience=context.config.dev.patience,
    )
    trainer.resume()
    best = {name: value for name, value in trainer.metrics().items() if name.startswith("dev_threshold_")}
    context.tuned.update({int(name.removeprefix("dev_threshold_")): value for name, value in best.items()})
    return trainer
