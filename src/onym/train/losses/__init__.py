"""What training makes small: functions of tensors, one to a file, with no model inside.

log_probs        what a model says of tokens, and the score of a sequence
cross_entropy    the loss of learning a name, with label smoothing
preference       pairs of a right and a wrong name, as their scores
dpo cpo          losses over such pairs
simpo pairwise   losses over such pairs
named            those losses by name, with the score that each was published with
miner            which pairs of a batch of vectors are hard
multi_similarity the loss of vectors over such pairs

Always true here: log-probabilities are float32 at least, a token without a label has no gradient, and the losses of preferences
are given pair by pair, for the caller to average. Distances and cosines of vectors are float32 at least, too.
"""

from __future__ import annotations

from onym.train.losses.cpo import cpo
from onym.train.losses.cross_entropy import cross_entropy
from onym.train.losses.dpo import dpo
from onym.train.losses.log_probs import IGNORED, Score
from onym.train.losses.miner import RowPairs, all_pairs, hard_pairs
from onym.train.losses.multi_similarity import MultiSimilarityLoss
from onym.train.losses.named import NamedLoss, loss_named
from onym.train.losses.pairwise import pairwise
from onym.train.losses.preference import Preference, PreferenceLoss
from onym.train.losses.simpo import simpo

__all__ = [
    "IGNORED",
    "MultiSimilarityLoss",
    "NamedLoss",
    "Preference",
    "PreferenceLoss",
    "RowPairs",
    "Score",
    "all_pairs",
    "cpo",
    "cross_entropy",
    "dpo",
    "hard_pairs",
    "loss_named",
    "pairwise",
    "simpo",
]
