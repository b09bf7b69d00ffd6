"""What training makes small: functions of tensors, one to a file, with no model inside.

log_probs        what a model says of tokens, and the score of a sequence
cross_entropy    the loss of learning a name, with label smoothing
preference       pairs of a right and a wrong name, as their scores
dpo cpo          losses over such pairs
simpo pairwise   losses over such pairs
named            those losses by name, with the score that each was published with

Always true here: log-probabilities are float32 at least, a token without a label has no gradient, and the losses of preferences
are given pair by pair, for the caller to average.
"""

from __future__ import annotations

from onym.train.losses.cpo import cpo
from onym.train.losses.cross_entropy import cross_entropy
from onym.train.losses.dpo import dpo
from onym.train.losses.log_probs import IGNORED, Score
from onym.train.losses.named import NamedLoss, loss_named
from onym.train.losses.pairwise import pairwise
from onym.train.losses.preference import Preference, PreferenceLoss
from onym.train.losses.simpo import simpo

__all__ = [
    "IGNORED",
    "NamedLoss",
    "Preference",
    "PreferenceLoss",
    "Score",
    "cpo",
    "cross_entropy",
    "dpo",
    "loss_named",
    "pairwise",
    "simpo",
]
