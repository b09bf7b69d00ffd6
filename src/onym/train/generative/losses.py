"""Losses for generative models: cross-entropy with label smoothing, and preference losses (DPO, CPO, SimPO, pairwise).

Log-probabilities are at least float32, tokens without a label get no gradient, and preference losses are returned per pair, for
the caller to average.

There are two layouts. Padded: logits (batch, length, vocabulary) with labels (batch, length), where `IGNORED` marks prompt and
padding. Gathered: logits (tokens, vocabulary) of the labelled positions only, with `rows` (tokens,), the index of each token's
sequence. Training uses the gathered layout, which computes logits only where there is a label.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from onym.errors import ConfigError
from onym.train.precision import at_least_fp32

IGNORED = -100
"""The label of a position that is not learned from, as in torch and transformers."""
Score = Literal["sum", "mean"]
"""The score of a sequence: the log-probability of it, or the mean over its labelled tokens."""


def gather_log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the log-probabilities (tokens,) of targets (tokens,) by logits (tokens, vocabulary).

    >>> gather_log_probs(torch.zeros(2, 4), torch.tensor([3, 0])).exp()
    tensor([0.2500, 0.2500])
    """
    # gather raises for IGNORED, which is not a vocabulary index; torch's loss would silently return 0 for it.
    return at_least_fp32(logits).log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def token_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the log-probabilities (batch, length) of labels by logits (batch, length, vocabulary), 0 where ignored.

    >>> token_log_probs(torch.zeros(1, 3, 4), torch.tensor([[IGNORED, 3, 0]])).exp()
    tensor([[1.0000, 0.2500, 0.2500]])
    """
    labelled = labels != IGNORED
    # Drop ignored positions before the softmax; multiplying by 0 afterwards gives NaN gradients for infinite logits.
    log_probs = gather_log_probs(logits[labelled], labels[labelled])
    return log_probs.new_zeros(labels.shape).masked_scatter(labelled, log_probs)


def sequence_log_probs(logits: Tensor, labels: Tensor, score: Score) -> Tensor:
    """Return the score (batch,) of each sequence: the sum or mean of the log-probabilities of its labelled tokens.

    *Shape:* logits (batch, length, vocabulary), labels (batch, length). The score of a sequence without labels is 0.

    >>> logits, labels = torch.zeros(1, 3, 4), torch.tensor([[IGNORED, 3, 0]])
    >>> sequence_log_probs(logits, labels, "sum").exp(), sequence_log_probs(logits, labels, "mean").exp()
    (tensor([0.0625]), tensor([0.2500]))
    """
    total = token_log_probs(logits, labels).sum(-1)
    return total if score == "sum" else total / (labels != IGNORED).sum(-1).clamp(min=1)


def sum_tokens(log_probs: Tensor, rows: Tensor, sequences: int) -> Tensor:
    """Return the summed log-probability (sequences,) of each sequence; `rows` (tokens,) is the sequence of each token.

    >>> sum_tokens(torch.tensor([-1.0, -2.0, -4.0]), torch.tensor([0, 2, 0]), 3)
    tensor([-5.,  0., -2.])
    """
    return log_probs.new_zeros(sequences).index_add(0, rows, log_probs)


def average_tokens(log_probs: Tensor, rows: Tensor, sequences: int) -> Tensor:
    """Return the mean log-probability (sequences,) of each sequence; 0 for a sequence without tokens.

    >>> average_tokens(torch.tensor([-1.0, -2.0, -4.0]), torch.tensor([0, 2, 0]), 3)
    tensor([-2.5000,  0.0000, -2.0000])
    """
    tokens = sum_tokens(torch.ones_like(log_probs), rows, sequences)
    return sum_tokens(log_probs, rows, sequences) / tokens.clamp(min=1)


def score_sequences(log_probs: Tensor, rows: Tensor, sequences: int, score: Score) -> Tensor:
    """Return the score (sequences,) of each sequence: the sum or the mean of its log-probabilities (tokens,).

    >>> score_sequences(torch.tensor([-1.0, -2.0, -4.0]), torch.tensor([0, 1, 0]), 2, "sum")
    tensor([-5., -2.])
    """
    return (sum_tokens if score == "sum" else average_tokens)(log_probs, rows, sequences)


def cross_entropy(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the scalar cross-entropy of targets (tokens,) by logits (tokens, vocabulary), summed over the tokens.

    Optimises    (1 - e) * -log p(target) + e * the mean of -log p over the whole vocabulary, where e is the smoothing
    Needs        logits of the labelled positions; ignored targets add 0
    When to use  positive-only training: GenBioEL section 3.2 and ANGEL equation 2, both with e = 0.1

    The loss is the sum, not the mean, so that a caller who splits a batch can divide by the tokens of the whole batch.
    Smoothing is as in Szegedy et al. (2016), section 7, `torch.nn.functional.cross_entropy` and transformers' `LabelSmoother`.
    fairseq spreads e over the vocabulary without the target: its e corresponds to e * V / (V - 1) here, where V is the
    vocabulary size (1.00002 e for BART).

    >>> import torch
    >>> cross_entropy(torch.zeros(3, 8), torch.tensor([1, 5, IGNORED]), 0.1) / 2 - torch.tensor(8.0).log()
    tensor(0.)
    """
    return functional.cross_entropy(
        at_least_fp32(logits), targets, reduction="sum", ignore_index=IGNORED, label_smoothing=smoothing
    )


@dataclass(frozen=True, slots=True)
class Preference:
    """Scores (pairs,) of the preferred and the rejected name of each pair, by the model and optionally by a reference model.

    >>> import torch
    >>> Preference(torch.tensor([-1.0]), torch.tensor([-3.0])).margin
    tensor([2.])
    """

    preferred: Tensor
    rejected: Tensor
    reference_preferred: Tensor | None = None
    reference_rejected: Tensor | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless all scores have the same shape (pairs,); torch would broadcast other shapes silently."""
        if (self.reference_preferred is None) != (self.reference_rejected is None):
            raise ValueError("give reference scores for both names of a pair, or for neither")
        scores = (self.preferred, self.rejected, self.reference_preferred, self.reference_rejected)
        shapes = {tuple(each.shape) for each in scores if each is not None}
        if len(shapes) > 1 or self.preferred.dim() != 1:
            raise ValueError(f"scores of pairs must all have the shape (pairs,), not {sorted(shapes)}")

    @property
    def margin(self) -> Tensor:
        """Model score of the preferred minus the rejected name (pairs,), at least float32."""
        return at_least_fp32(self.preferred) - at_least_fp32(self.rejected)

    @property
    def reference_margin(self) -> Tensor:
        """Reference score of the preferred minus the rejected name (pairs,), detached from the graph."""
        if self.reference_preferred is None or self.reference_rejected is None:
            raise ValueError("these pairs have no reference scores")
        return at_least_fp32(self.reference_preferred.detach()) - at_least_fp32(self.reference_rejected.detach())


def logistic(margin: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return -log sigmoid of margins (pairs,); `smoothing` is the expected share of pairs with swapped labels.

    Optimises  -(1 - e) log sigmoid(margin) - e log sigmoid(-margin), where e is the smoothing
    Related    Bradley and Terry (1952); for e > 0 (conservative), Mitchell (2023), A note on DPO with noisy preferences

    >>> import torch
    >>> logistic(torch.tensor([0.0, 40.0])), logistic(torch.tensor([40.0]), 0.1)
    (tensor([6.9315e-01, ...]), tensor([4.]))
    """
    losses = -functional.logsigmoid(margin)
    return losses if smoothing == 0 else (1 - smoothing) * losses - smoothing * functional.logsigmoid(-margin)


def pairwise(preference: Preference, *, beta: float = 0.1) -> Tensor:
    """Return the losses (pairs,) of ANGEL's equation 4 with r = log p, the first alternative of its appendix C.

    Optimises    -log sigmoid(beta * margin)
    Needs        scores; in the paper, these are sums of log-probabilities
    When to use  as a baseline for the other losses; in ANGEL's table D, its accuracy is 85.9, that of `dpo` 86.2
    Related      `dpo` subtracts the reference margin, `simpo` a target margin; `cpo` adds the cross-entropy of the right name

    >>> import torch
    >>> pairwise(Preference(torch.tensor([-1.0]), torch.tensor([-21.0])), beta=1.0) < 1e-8
    tensor([True])
    """
    return logistic(beta * preference.margin)


def dpo(preference: Preference, *, beta: float = 0.1, smoothing: float = 0.0) -> Tensor:
    """Return the losses (pairs,) of Rafailov et al. (2023), equation 7, which are ANGEL's equations 4 and 5.

    Optimises    -log sigmoid(beta * (margin - reference margin)); `smoothing` makes it conservative (cDPO)
    Needs        scores of the model and of a reference model (no gradient); in the paper, sums of log-probabilities
    When to use  negative-aware training; best in ANGEL's table D, with beta 0.1 and the initial model as reference
    Related      `cpo` and `simpo` need no reference model; `pairwise` is `dpo` with a reference margin of 0

    >>> import torch
    >>> scores = torch.tensor([-1.0, -2.0]), torch.tensor([-3.0, -1.0])
    >>> dpo(Preference(*scores, *scores))
    tensor([0.6931, 0.6931])
    """
    return logistic(beta * (preference.margin - preference.reference_margin), smoothing)


def cpo(
    preference: Preference,
    cross_entropy: Tensor | None = None,
    *,
    beta: float = 0.1,
    alpha: float = 1.0,
    smoothing: float = 0.0,
) -> Tensor:
    """Return the losses (pairs,) of Xu et al. (2024), section 3: equation 3 plus the cross-entropy of the preferred names.

    Optimises    -log sigmoid(beta * margin) + alpha * cross-entropy of the right name
    Needs        scores (in the paper, sums of log-probabilities), and the cross-entropy of the right names as a scalar or
                 (pairs,); if alpha is 0, the cross-entropy is not needed
    When to use  instead of `dpo`, if a reference model is too expensive; the second term keeps the right name likely
    Related      `pairwise` is `cpo` without the second term

    A scalar cross-entropy is added to the loss of every pair. TRL averages over all tokens of right names in the batch, so long
    names weigh more, and smooths only the first term; pass `cross_entropy(...) / tokens` to get TRL's loss. For the paper's
    definition, -log p of each name, pass `-preferred`.

    >>> import torch
    >>> pairs = Preference(torch.tensor([-1.0, -2.0]), torch.tensor([-1.0, -2.0]))
    >>> cpo(pairs, torch.tensor(0.5)), cpo(pairs, -pairs.preferred)
    (tensor([1.1931, 1.1931]), tensor([1.6931, 2.6931]))
    """
    losses = logistic(beta * preference.margin, smoothing)
    if alpha == 0:
        return losses
    if cross_entropy is None:
        raise ValueError("CPO needs the cross-entropy of the preferred names unless alpha is 0")
    if cross_entropy.shape not in ((), losses.shape):
        raise ValueError(
            f"cross_entropy must be a scalar or have the shape {tuple(losses.shape)}, not {tuple(cross_entropy.shape)}"
        )
    return losses + alpha * at_least_fp32(cross_entropy)


def simpo(preference: Preference, *, beta: float = 2.0, gamma: float = 1.0, smoothing: float = 0.0) -> Tensor:
    """Return the losses (pairs,) of Meng et al. (2024), equation 6.

    Optimises    -log sigmoid(beta * margin - gamma)
    Needs        scores; in the paper, these are means over the tokens of a name
    When to use  without a reference model, for names of different lengths and a linker that ranks names by their mean score
    Related      `cpo`; gamma is `simpo_gamma` in TRL, and the authors' code sets gamma / beta

    The defaults are the starting values that the authors recommend: beta 2 to 2.5, much larger than for `dpo`, and gamma half
    of beta.

    >>> import torch
    >>> simpo(Preference(torch.tensor([-0.5]), torch.tensor([-1.0])))
    tensor([0.6931])
    """
    return logistic(beta * preference.margin - gamma, smoothing)


class _Published(NamedTuple):
    function: Callable[..., Tensor]
    score: Score


_LOSSES: Mapping[str, _Published] = MappingProxyType(
    {
        "dpo": _Published(dpo, "sum"),
        "cpo": _Published(cpo, "sum"),
        "simpo": _Published(simpo, "mean"),
        "pairwise": _Published(pairwise, "sum"),
    }
)


LOSSES = tuple(_LOSSES)


@dataclass(frozen=True, slots=True)
class NamedLoss:
    """A preference loss with its options; calling it returns the losses (pairs,).

    `score` says how the loss's paper scores a name; `options` has the value of every option, including defaults.
    """

    name: str
    score: Score
    options: Mapping[str, float]

    @property
    def needs_reference(self) -> bool:
        """Whether the loss needs scores of a reference model."""
        return self.name == "dpo"

    @property
    def needs_cross_entropy(self) -> bool:
        """Whether the loss needs the cross-entropy of the preferred names."""
        return self.options.get("alpha", 0.0) != 0

    def __call__(self, preference: Preference, cross_entropy: Tensor | None = None) -> Tensor:
        """Return the losses (pairs,); the cross-entropy is ignored if the loss does not need it."""
        extra = (cross_entropy,) if self.needs_cross_entropy else ()
        return _LOSSES[self.name].function(preference, *extra, **self.options)


def find_loss(name: str, **options: float) -> NamedLoss:
    """Return the loss with this name: `dpo`, `cpo`, `simpo` or `pairwise`.

    >>> loss = find_loss("simpo", gamma=0.5)
    >>> loss.score, dict(loss.options), loss.needs_reference
    ('mean', {'beta': 2.0, 'gamma': 0.5, 'smoothing': 0.0}, False)
    """
    published = _LOSSES.get(name)
    if published is None:
        raise ConfigError("config-invalid", f"unknown loss {name!r}", fix=f"use one of {', '.join(LOSSES)}")
    defaults = _defaults(published.function)
    for option, value in options.items():
        if option not in defaults:
            fix = f"use only {', '.join(defaults)}"
            raise ConfigError("config-invalid", f"the loss {name} has no option {option!r}", fix=fix)
        _require_allowed(option, value)
    return NamedLoss(name, published.score, MappingProxyType(defaults | options))


def _defaults(function: Callable[..., Tensor]) -> dict[str, float]:
    """Return the options of a loss with their defaults: its keyword-only parameters."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}


def _require_allowed(option: str, value: float) -> None:
    """Reject hyper-parameters (such as beta <= 0) that invert or cancel the preference loss."""
    if option == "smoothing":
        is_allowed, allowed = 0 <= value < 0.5, "from 0 to less than 0.5"
    elif option == "beta":
        is_allowed, allowed = 0 < value < math.inf, "above 0"
    else:
        is_allowed, allowed = 0 <= value < math.inf, "of at least 0"
    if not is_allowed:
        raise ConfigError("config-invalid", f"{option} is {value}", fix=f"set a number {allowed}")
