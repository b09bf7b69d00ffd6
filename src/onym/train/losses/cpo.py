"""Contrastive preference optimisation (CPO)."""

from __future__ import annotations

from torch import Tensor

from onym.train.losses.log_probs import at_least_fp32
from onym.train.losses.preference import Preference, logistic


def cpo(
    preference: Preference,
    cross_entropy: Tensor | None = None,
    *,
    beta: float = 0.1,
    alpha: float = 1.0,
    smoothing: float = 0.0,
) -> Tensor:
    """Return the losses (pairs,) of Xu et al. (2024), section 3: equation 3 and the likelihood of what is preferred.

    Optimises    -log sigmoid(beta * margin) + alpha * cross-entropy of the right name
    Needs        scores published as sums; unless alpha is 0, the cross-entropy of the right names, () or (pairs,)
    When to use  instead of `dpo`, where a reference costs too much; the second term keeps the right name likely
    Related      `pairwise` is this without the second term

    One cross-entropy () for all pairs is added to each: the mean of the losses is that of the first terms plus alpha times it.
    TRL takes the mean over all tokens of right names of the batch, in which a long name weighs more than a short one, and
    smooths only the first term; `cross_entropy(...) / tokens` is that. The paper's own, -log p of each name, is `-preferred`.

    >>> import torch
    >>> pairs = Preference(torch.tensor([-1.0, -2.0]), torch.tensor([-1.0, -2.0]))
    >>> cpo(pairs, torch.tensor(0.5)), cpo(pairs, -pairs.preferred)
    (tensor([1.1931, 1.1931]), tensor([1.6931, 2.6931]))
    """
    losses = logistic(beta * preference.margin, smoothing)
    if alpha == 0:
        return losses
    if cross_entropy is None:
        raise ValueError("CPO needs the cross-entropy of the preferred names, or alpha 0")
    if cross_entropy.shape not in ((), losses.shape):
        raise ValueError(
            f"a cross-entropy of {tuple(losses.shape)} pairs has that shape or (), not {tuple(cross_entropy.shape)}"
        )
    return losses + alpha * at_least_fp32(cross_entropy)
