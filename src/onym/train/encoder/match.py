"""Fine-tuning of an encoder on a corpus (SapBERT, appendix A.3): mentions are drawn to the names of what they mean."""

from __future__ import annotations

from pathlib import Path

from onym.linkers.dense import DenseLinker
from onym.train.encoder.align import learn_pairs, name_pairs
from onym.train.encoder.context import EncoderSetting
from onym.train.encoder.trainer import AlignTrainer
from onym.train.samples.base import Positive, Repeated
from onym.train.samples.hard import HardPairs, mine
from onym.train.samples.mention_pairs import MentionPairs
from onym.train.samples.mixed import Mixed


def match(setting: EncoderSetting) -> AlignTrainer:
    """Train on the mentions of a corpus, going on where an earlier call was stopped."""
    data = setting.config.data
    setting.say(f"choosing names for {len(setting.places):,} mentions")
    mentions = MentionPairs(setting.places, setting.kb, count=0, similar=data.similar, seed=setting.config.optim.seed)
    pairs: Repeated[Positive] = _with_mistakes(setting, mentions) if data.hard else mentions
    return learn_pairs(setting, Mixed(pairs, name_pairs(setting), data.mix) if data.mix else pairs)


def _with_mistakes(setting: EncoderSetting, mentions: MentionPairs) -> HardPairs:
    """Put beside each mention what the model, as it is before the training, takes it for."""
    hard = setting.config.data.hard
    setting.say("encoding the knowledge base and linking the corpus, to learn from what is near and wrong")
    linker = DenseLinker.from_pretrained(Path(setting.config.start.model), setting.kb, encoder=setting.settings)
    return HardPairs(mentions, mine(linker, mentions, hard), setting.kb, hard, setting.config.optim.seed)
