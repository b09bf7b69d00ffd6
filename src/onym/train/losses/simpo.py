"""Simple preference optimisation (SimPO)."""

from __future__ import annotations

from torch import Tensor

from onym.train.losses.preference import Preference, logistic


def simpo(preference: Preference, *, beta: float = 2.0, gamma: float = 1.0, smoothing: float = 0.0) -> Tensor:
    """Return the losses (pairs,) of Meng et al. (2024), equation 6.

    Optimises    -log sigmoid(beta * margin - gamma)
    Needs        scores published as means over the tokens of a name
    When to use  names of different lengths, no reference, and a linker that ranks names by their mean
    Related      `cpo`; TRL writes gamma as `simpo_gamma`, the authors' code as gamma / beta

    The defaults are what the authors advise to begin with: beta 2 to 2.5, far more than for `dpo`, and gamma half of beta.

    >>> import torch
    >>> simpo(Preference(torch.tensor([-0.5]), torch.tensor([-1.0])))
    tensor([0.6931])
    """
    return logistic(beta * preference.margin - gamma, smoothing)
