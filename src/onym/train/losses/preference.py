"""Pairs of a right and a wrong name, as the scores that a model gives them, and what the losses over pairs have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from torch.nn import functional

from onym.train.losses.log_probs import at_least_fp32


@dataclass(frozen=True, slots=True)
class Preference:
    """The scores (pairs,) of the preferred and of the rejected name of each pair, by the model and perhaps by a reference.

    >>> import torch
    >>> Preference(torch.tensor([-1.0]), torch.tensor([-3.0])).margin
    tensor([2.])
    """

    preferred: Tensor
    rejected: Tensor
    reference_preferred: Tensor | None = None
    reference_rejected: Tensor | None = None

    def __post_init__(self) -> None:
        """Refuse shapes that torch would broadcast into pairs that nobody made."""
        if (self.reference_preferred is None) != (self.reference_rejected is None):
            raise ValueError("a reference scores both names of a pair or none")
        scores = (self.preferred, self.rejected, self.reference_preferred, self.reference_rejected)
        shapes = {tuple(each.shape) for each in scores if each is not None}
        if len(shapes) > 1 or self.preferred.dim() != 1:
            raise ValueError(f"scores of pairs have one shape (pairs,), not {sorted(shapes)}")

    @property
    def margin(self) -> Tensor:
        """By how much (pairs,) the model prefers the right name, float32 at least."""
        return at_least_fp32(self.preferred) - at_least_fp32(self.rejected)

    @property
    def reference_margin(self) -> Tensor:
        """By how much (pairs,) the reference prefers the right name: a constant, with no gradient."""
        if self.reference_preferred is None or self.reference_rejected is None:
            raise ValueError("these pairs have no scores of a reference")
        return at_least_fp32(self.reference_preferred.detach()) - at_least_fp32(self.reference_rejected.detach())


class PreferenceLoss(Protocol):
    """A loss over pairs whose options are settled: what a trainer calls."""

    def __call__(self, preference: Preference, cross_entropy: Tensor | None = None) -> Tensor:
        """Return the losses (pairs,); `cross_entropy` of the preferred names is for the losses that add it."""


def logistic(margin: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return -log sigmoid of margins (pairs,), or where a share of the pairs may be the wrong way round, what is then expected.

    Optimises  -(1 - e) log sigmoid(margin) - e log sigmoid(-margin), e being the smoothing
    Related    Bradley and Terry (1952); with e, "conservative": Mitchell (2023), A note on DPO with noisy preferences

    >>> import torch
    >>> logistic(torch.tensor([0.0, 40.0])), logistic(torch.tensor([40.0]), 0.1)
    (tensor([6.9315e-01, ...]), tensor([4.]))
    """
    losses = -functional.logsigmoid(margin)
    return losses if smoothing == 0 else (1 - smoothing) * losses - smoothing * functional.logsigmoid(-margin)
