"""Synonyms-aware fine-tuning (GenBioEL section 2.3; ANGEL's positive-only training): mentions, written as names like them."""

from __future__ import annotations

from onym.train.generative.context import Setting
from onym.train.generative.learn import learn
from onym.train.generative.trainer import NameTrainer
from onym.train.samples.mentions import MentionSamples
from onym.train.samples.targets import require_known


def finetune(setting: Setting) -> NameTrainer:
    """Train on the mentions of a corpus, going on where an earlier call was stopped."""
    data = setting.config.data
    setting.say(f"choosing names for {len(setting.places):,} mentions")
    samples = MentionSamples(
        setting.places,
        setting.kb,
        setting.layout,
        count=setting.samples_seen,
        choice=data.target,
        names=data.names,
        seed=setting.config.optim.seed,
    )
    require_known(samples.epoch)
    return learn(setting, samples)
