"""KB-guided pre-training (GenBioEL section 2.2): the knowledge base's synonyms and definitions, put into clauses."""

from __future__ import annotations

from onym.train.recipes.setting import Setting
from onym.train.samples.knowledge import KnowledgeSamples
from onym.train.trainer import NameTrainer


def pretrain(setting: Setting) -> NameTrainer:
    """Train on the names of a knowledge base, going on where an earlier call was stopped."""
    optim = setting.config.optim
    samples = KnowledgeSamples(
        setting.kb, setting.layout, count=setting.samples_seen, seed=optim.seed, mention=setting.config.data.mention
    )
    trainer = NameTrainer(
        setting.model,
        samples,
        setting.collate,
        setting.work,
        optim,
        dev=setting.dev,
        patience=setting.config.dev.patience,
    )
    trainer.resume()
    return trainer
