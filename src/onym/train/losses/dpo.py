"""Direct preference optimisation (DPO)."""

from __future__ import annotations

from torch import Tensor

from onym.train.losses.preference import Preference, logistic


def dpo(preference: Preference, *, beta: float = 0.1, smoothing: float = 0.0) -> Tensor:
    """Return the losses (pairs,) of Rafailov et al. (2023), equation 7, which are ANGEL's equations 4 and 5.

    Optimises    -log sigmoid(beta * (margin - margin of the reference)); `smoothing` makes it conservative (cDPO)
    Needs        the scores of a reference, published as sums; they are constants
    When to use  negative-aware training; ANGEL's best (its table D), with beta 0.1 and the model at the start as reference
    Related      `cpo` and `simpo` do without a reference, `pairwise` is this with one that prefers no name

    >>> import torch
    >>> scores = torch.tensor([-1.0, -2.0]), torch.tensor([-3.0, -1.0])
    >>> dpo(Preference(*scores, *scores))
    tensor([0.6931, 0.6931])
    """
    return logistic(beta * (preference.margin - preference.reference_margin), smoothing)
