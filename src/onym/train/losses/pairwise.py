"""The plain pairwise preference loss."""

from __future__ import annotations

from torch import Tensor

from onym.train.losses.preference import Preference, logistic


def pairwise(preference: Preference, *, beta: float = 0.1) -> Tensor:
    """Return the losses (pairs,) of ANGEL's equation 4 with r = log p, the first alternative of its appendix C.

    Optimises    -log sigmoid(beta * margin)
    Needs        scores published as sums
    When to use  as the baseline that the other losses must beat; 85.9 against 86.2 of `dpo` in ANGEL's table D
    Related      `dpo` subtracts the margin of a reference, `cpo` adds the cross-entropy of the right name, `simpo` a target

    >>> import torch
    >>> pairwise(Preference(torch.tensor([-1.0]), torch.tensor([-21.0])), beta=1.0) < 1e-8
    tensor([True])
    """
    return logistic(beta * preference.margin)
