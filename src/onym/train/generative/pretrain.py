"""KB-guided pre-training (GenBioEL section 2.2): the knowledge base's synonyms and definitions, put into clauses."""

from __future__ import annotations

from onym.train.generative.context import Setting
from onym.train.generative.learn import learn
from onym.train.generative.trainer import NameTrainer
from onym.train.samples.knowledge import KnowledgeSamples


def pretrain(setting: Setting) -> NameTrainer:
    """Train on the names of a knowledge base, going on where an earlier call was stopped."""
    config = setting.config
    samples = KnowledgeSamples(
        setting.kb, setting.layout, count=setting.samples_seen, seed=config.optim.seed, mention=config.data.mention
    )
    return learn(setting, samples)
