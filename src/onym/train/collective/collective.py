"""The collective stage (Bhowmik et al.): mentions are detected and pulled to names of their concepts, a document at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from onym.index.build import open_derived_index
from onym.models.torch_encoder import Encoder
from onym.models.torch_loading import in_precision
from onym.store.output import whole_file
from onym.train.collective.collate import WindowCollate
from onym.train.collective.context import CollectiveContext
from onym.train.collective.trainer import CollectiveTrainer
from onym.train.samples.negatives import Floats, Ints, Negatives
from onym.train.samples.windows import TrainingWindows

_log = logging.getLogger("onym.train")
_POOLS = "pools.npy"


def collective(context: CollectiveContext) -> CollectiveTrainer:
    """Train on the documents of a dataset; an interrupted run resumes."""
    start, optim = context.config.start, context.config.optim
    room = start.window - len(context.tokenizer.before) - len(context.tokenizer.after)
    windows = TrainingWindows(
        context.documents, context.linkable, context.tokenizer, room=room, overlap=start.overlap, seed=optim.seed
    )
    if optim.epochs:
        optim = optim.model_copy(update={"steps": max(1, int(optim.epochs * windows.epoch / context.samples_per_step))})
    _log.info("%d windows in an epoch; %d steps", windows.epoch, optim.steps)
    negatives = _negatives(context) if context.model.names is not None else None
    trainer = CollectiveTrainer(
        context.model,
        windows.with_count(optim.steps * context.samples_per_step),
        WindowCollate(context.tokenizer, context.model.config.pad_token_id, start.detect, start.max_span_tokens),
        context.work,
        optim,
        reading=context.reading if negatives else None,
        negatives=negatives,
        frozen_names=context.frozen.rows if negatives and context.frozen is not None else None,
        mine=_miner(context, negatives) if negatives else None,
        dev=context.dev,
        patience=context.config.dev.patience,
    )
    trainer.resume()
    if "dev_threshold" in (metrics := trainer.metrics()):
        context.tuned["threshold"] = metrics["dev_threshold"]
    return trainer


def _negatives(context: CollectiveContext) -> Negatives:
    data = context.config.data
    return Negatives(
        context.queries,
        context.kb,
        _pools(context),
        hard=data.hard_negatives,
        random=data.random_negatives,
        similar=data.similar,
        seed=context.config.optim.seed,
    )


def _pools(context: CollectiveContext) -> Ints:
    """Return the names nearest to each mention among all, by the model before the training; they are kept."""
    path = context.work / _POOLS
    if path.is_file():
        found: Ints = np.load(path, allow_pickle=False)
        return found
    _log.info("embedding the knowledge base and the dataset, to mine hard negatives")
    names = Encoder.open(Path(context.names_folder), device=str(context.device))
    index = open_derived_index(context.kb, names)
    pools = index.search(mention_vectors(context, context.model), context.config.data.pool)[1].astype(np.int64)
    data = BytesIO()
    np.save(data, pools, allow_pickle=False)
    with whole_file(path, force=True) as file:
        file.write(data.getvalue())
    return pools


def _miner(context: CollectiveContext, negatives: Negatives) -> Callable[[Any], None]:
    def mine(module: Any) -> None:
        negatives.mine(mention_vectors(context, module), name_vectors(context, module, negatives.names))

    return mine


def name_vectors(context: CollectiveContext, module: Any, names: Ints) -> Floats:
    """Return the embeddings of names: the stored ones of a frozen encoder, else by the current model. *Shape:* (names, dim)."""
    if context.frozen is not None:
        return context.frozen.rows(names)
    encoder = Encoder(in_precision(module.names, "auto"), context.reading.tokenizer, module.settings)
    return encoder.encode([context.kb.names[name] for name in names.tolist()])


def mention_vectors(context: CollectiveContext, module: Any) -> Floats:
    """Return the embeddings of all mentions to link, by the current model. *Shape:* (mentions, dim)."""
    found = np.zeros((len(context.linkable), module.heads.dim), dtype=np.float32)
    numbers = {(doc.key, mention.start, mention.end): number for number, (doc, mention) in enumerate(context.linkable)}
    vectors, rows = context.inference_model(module).mention_vectors(context.documents)
    for vector, (at, of) in zip(vectors, rows, strict=True):
        doc = context.documents[at]
        number = numbers.get((doc.key, doc.mentions[of].start, doc.mentions[of].end))
        if number is not None:
            found[number] = vector
    return found
