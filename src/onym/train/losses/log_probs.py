"""What a model says of the tokens that it should write, and of whole sequences.

Two layouts: padded, logits (batch, length, vocabulary) with labels (batch, length) where `IGNORED` marks prompt and padding;
and gathered, logits (tokens, vocabulary) of the labelled positions alone, with `rows` (tokens,) telling whose each one is. The
second is for training: the vocabulary is scored only where there is something to learn.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

IGNORED = -100
"""The label of a position that is not learned from, as in torch and transformers."""

Score = Literal["sum", "mean"]
"""The score of a sequence: the log-probability of it, or the mean over its labelled tokens."""


def at_least_fp32(values: Tensor) -> Tensor:
    """Return values as float32 if they are of less precision; float64 stays.

    >>> at_least_fp32(torch.zeros(2, dtype=torch.bfloat16)).dtype, at_least_fp32(torch.zeros(2, dtype=torch.float64)).dtype
    (torch.float32, torch.float64)
    """
    return values.to(torch.promote_types(values.dtype, torch.float32))


def gathered_log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the log-probabilities (tokens,) of targets (tokens,) by logits (tokens, vocabulary).

    >>> gathered_log_probs(torch.zeros(2, 4), torch.tensor([3, 0])).exp()
    tensor([0.2500, 0.2500])
    """
    # An ignored label is no index of the vocabulary: gather refuses it, where a loss of torch would count it as certain.
    return at_least_fp32(logits).log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def token_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the log-probabilities (batch, length) of labels by logits (batch, length, vocabulary), 0 where ignored.

    >>> token_log_probs(torch.zeros(1, 3, 4), torch.tensor([[IGNORED, 3, 0]])).exp()
    tensor([[1.0000, 0.2500, 0.2500]])
    """
    labelled = labels != IGNORED
    # Taken out before softmax, not multiplied by 0 after it: 0 times the gradient of an infinite logit is not a number.
    log_probs = gathered_log_probs(logits[labelled], labels[labelled])
    return log_probs.new_zeros(labels.shape).masked_scatter(labelled, log_probs)


def sequence_log_probs(logits: Tensor, labels: Tensor, score: Score) -> Tensor:
    """Return the scores (batch,) of the labelled tokens by logits (batch, length, vocabulary); without any, the score is 0.

    >>> logits, labels = torch.zeros(1, 3, 4), torch.tensor([[IGNORED, 3, 0]])
    >>> sequence_log_probs(logits, labels, "sum").exp(), sequence_log_probs(logits, labels, "mean").exp()
    (tensor([0.0625]), tensor([0.2500]))
    """
    total = token_log_probs(logits, labels).sum(-1)
    return total if score == "sum" else total / (labels != IGNORED).sum(-1).clamp(min=1)


def sum_tokens(log_probs: Tensor, rows: Tensor, sequences: int) -> Tensor:
    """Return the sums (sequences,) of the log-probabilities (tokens,) of each sequence; `rows` (tokens,) says whose each is.

    >>> sum_tokens(torch.tensor([-1.0, -2.0, -4.0]), torch.tensor([0, 2, 0]), 3)
    tensor([-5.,  0., -2.])
    """
    return log_probs.new_zeros(sequences).index_add(0, rows, log_probs)


def average_tokens(log_probs: Tensor, rows: Tensor, sequences: int) -> Tensor:
    """Return the means (sequences,) of the log-probabilities (tokens,) of each sequence; without tokens, the mean is 0.

    >>> average_tokens(torch.tensor([-1.0, -2.0, -4.0]), torch.tensor([0, 2, 0]), 3)
    tensor([-2.5000,  0.0000, -2.0000])
    """
    tokens = sum_tokens(torch.ones_like(log_probs), rows, sequences)
    return sum_tokens(log_probs, rows, sequences) / tokens.clamp(min=1)


def score_sequences(log_probs: Tensor, rows: Tensor, sequences: int, score: Score) -> Tensor:
    """Return the scores (sequences,) of the log-probabilities (tokens,) of each sequence.

    >>> score_sequences(torch.tensor([-1.0, -2.0, -4.0]), torch.tensor([0, 1, 0]), 2, "sum")
    tensor([-5., -2.])
    """
    return (sum_tokens if score == "sum" else average_tokens)(log_probs, rows, sequences)
