"""Cross-entropy with label smoothing: the loss of learning to write a name."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from onym.train.losses.log_probs import IGNORED, at_least_fp32


def cross_entropy(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the cross-entropy of targets (tokens,) by logits (tokens, vocabulary), summed over the tokens: ().

    Optimises    (1 - e) * -log p(target) + e * the mean of -log p over the whole vocabulary, e being the smoothing
    Needs        logits of the labelled positions; an ignored target counts nothing
    When to use  positive-only training: GenBioEL section 3.2 and ANGEL equation 2, both with e = 0.1

    The sum, not the mean, so that a caller who splits a batch can divide by the tokens of the whole of it. Smoothing is that of
    Szegedy et al. (2016), section 7, of `torch.nn.functional.cross_entropy` and of transformers' `LabelSmoother`. fairseq
    spreads e over the vocabulary without the target: its e is e * V / (V - 1) here, where V is the size of the vocabulary,
    1.00002 e for BART.

    >>> import torch
    >>> cross_entropy(torch.zeros(3, 8), torch.tensor([1, 5, IGNORED]), 0.1) / 2 - torch.tensor(8.0).log()
    tensor(0.)
    """
    return functional.cross_entropy(
        at_least_fp32(logits), targets, reduction="sum", ignore_index=IGNORED, label_smoothing=smoothing
    )
