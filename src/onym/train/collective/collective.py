"""The collective encoder (Bhowmik et al.): mentions are found and drawn to names of what they mean, a document at a time."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from onym.encoders.encoder import Encoder
from onym.encoders.loading import in_precision
from onym.index.derived import open_derived_index
from onym.store.output import whole_file
from onym.train.collective.collate import SightCollate
from onym.train.collective.context import CollectiveSetting
from onym.train.collective.trainer import CollectiveTrainer
from onym.train.samples.negatives import Floats, Ints, Rivals
from onym.train.samples.windows import Sights

_POOLS = "pools.npy"


def collective(setting: CollectiveSetting) -> CollectiveTrainer:
    """Train on the documents of a corpus, going on where an earlier call was stopped."""
    start, optim = setting.config.start, setting.config.optim
    room = start.window - len(setting.tokenizer.before) - len(setting.tokenizer.after)
    sights = Sights(setting.documents, setting.wanted, setting.tokenizer, room=room, overlap=start.overlap, seed=optim.seed)
    if optim.epochs:
        optim = optim.model_copy(update={"steps": max(1, int(optim.epochs * sights.epoch / setting.step_samples))})
    setting.say(f"{sights.epoch:,} windows in an epoch; {optim.steps:,} steps")
    rivals = _rivals(setting) if setting.model.names is not None else None
    trainer = CollectiveTrainer(
        setting.model,
        sights.counted(optim.steps * setting.step_samples),
        SightCollate(setting.tokenizer, setting.model.config.pad_token_id, start.detect, start.longest),
        setting.work,
        optim,
        reading=setting.reading if rivals else None,
        rivals=rivals,
        known=setting.frozen.rows if rivals and setting.frozen is not None else None,
        mine=_miner(setting, rivals) if rivals else None,
        dev=setting.dev,
        patience=setting.config.dev.patience,
    )
    trainer.resume()
    if "dev_threshold" in (metrics := trainer.metrics()):
        setting.tuned["threshold"] = metrics["dev_threshold"]
    return trainer


def _rivals(setting: CollectiveSetting) -> Rivals:
    data = setting.config.data
    return Rivals(
        setting.asked,
        setting.kb,
        _pools(setting),
        hard=data.hard,
        random=data.random,
        similar=data.similar,
        seed=setting.config.optim.seed,
    )


def _pools(setting: CollectiveSetting) -> Ints:
    """Return the names nearest to each mention among all, by the model as it is before the training; they are kept."""
    path = setting.work / _POOLS
    if path.is_file():
        found: Ints = np.load(path, allow_pickle=False)
        return found
    setting.say("encoding the knowledge base and reading the corpus, to learn from what is near and wrong")
    names = Encoder.open(Path(setting.names_folder))
    index = open_derived_index(setting.kb, names)
    pools = index.search(mention_vectors(setting, setting.model), setting.config.data.pool)[1].astype(np.int64)
    data = BytesIO()
    np.save(data, pools, allow_pickle=False)
    with whole_file(path, force=True) as file:
        file.write(data.getvalue())
    return pools


def _miner(setting: CollectiveSetting, rivals: Rivals) -> Callable[[Any], None]:
    def mine(module: Any) -> None:
        rivals.mine(mention_vectors(setting, module), _name_vectors(setting, module, rivals.names))

    return mine


def _name_vectors(setting: CollectiveSetting, module: Any, names: Ints) -> Floats:
    """Return the vectors of names: those that are kept, or by a model as it is where its encoder of names learns."""
    if setting.frozen is not None:
        return setting.frozen.rows(names)
    encoder = Encoder(in_precision(module.names, "auto"), setting.reading.tokenizer, module.settings)
    return encoder.encode([setting.kb.names[name] for name in names.tolist()])


def mention_vectors(setting: CollectiveSetting, module: Any) -> Floats:
    """Return the vectors of all mentions to be linked, by a model as it is. *Shape:* (mentions, width)."""
    found = np.zeros((len(setting.wanted), module.heads.wide), dtype=np.float32)
    numbers = {(doc.id, mention.start, mention.end): number for number, (doc, mention) in enumerate(setting.wanted)}
    vectors, places = setting.open(module).mention_vectors(setting.documents)
    for vector, (at, of) in zip(vectors, places, strict=True):
        doc = setting.documents[at]
        number = numbers.get((doc.id, doc.mentions[of].start, doc.mentions[of].end))
        if number is not None:
            found[number] = vector
    return found
