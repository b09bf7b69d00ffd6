"""Losses of generated names, as functions of tensors: cross-entropy with label smoothing, and losses over preference pairs.

Log-probabilities are float32 at least, a token without a label has no gradient, and the losses of preferences are returned pair
by pair, for the caller to average.

Two layouts: padded, logits (batch, length, vocabulary) with labels (batch, length) where `IGNORED` marks prompt and padding;
and gathered, logits (tokens, vocabulary) of the labelled positions alone, with `rows` (tokens,), the sequence of each token.
The second is for training: the vocabulary is scored only where there is a label.
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


def gather_log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the log-probabilities (tokens,) of targets (tokens,) by logits (tokens, vocabulary).

    >>> gather_log_probs(torch.zeros(2, 4), torch.tensor([3, 0])).exp()
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
    log_probs = gather_log_probs(logits[labelled], labels[labelled])
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
    """A loss over pairs with all of its options settled; calling it gives the losses (pairs,).

    `score` is what the paper scores a name with; `options` are all its options, defaults included.
    """

    name: str
    score: Score
    options: Mapping[str, float]

    @property
    def needs_reference(self) -> bool:
        """Whether the pairs must have the scores of a reference."""
        return self.name == "dpo"

    @property
    def needs_cross_entropy(self) -> bool:
        """Whether the cross-entropy of the preferred names is needed."""
        return self.options.get("alpha", 0.0) != 0

    def __call__(self, preference: Preference, cross_entropy: Tensor | None = None) -> Tensor:
        """Return the losses (pairs,); a cross-entropy that the loss does not need is passed over."""
        extra = (cross_entropy,) if self.needs_cross_entropy else ()
        return _LOSSES[self.name].function(preference, *extra, **self.options)


def find_loss(name: str, **options: float) -> NamedLoss:
    """Return the loss of that name: `dpo`, `cpo`, `simpo` or `pairwise`.

    >>> loss = find_loss("simpo", gamma=0.5)
    >>> loss.score, dict(loss.options), loss.needs_reference
    ('mean', {'beta': 2.0, 'gamma': 0.5, 'smoothing': 0.0}, False)
    """
    published = _LOSSES.get(name)
    if published is None:
        raise ConfigError("config-invalid", f"no loss is named {name!r}", fix=f"the names are {', '.join(LOSSES)}")
    defaults = _defaults(published.function)
    for option, value in options.items():
        if option not in defaults:
            fix = f"its options are {', '.join(defaults)}"
            raise ConfigError("config-invalid", f"the loss {name} has no option {option!r}", fix=fix)
        _require_allowed(option, value)
    return NamedLoss(name, published.score, MappingProxyType(defaults | options))


def _defaults(function: Callable[..., Tensor]) -> dict[str, float]:
    """Return the options of a loss, its keyword-only parameters, so that each default is written once."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}


def _require_allowed(option: str, value: float) -> None:
    """Reject hyper-parameters (such as beta <= 0) that invert or cancel the preference loss."""
    if option == "smoothing":
        is_allowed, allowed = 0 <= value < 0.5, "at least 0 and less than 0.5"
    elif option == "beta":
        is_allowed, allowed = 0 < value < math.inf, "more than 0"
    else:
        is_allowed, allowed = 0 <= value < math.inf, "at least 0"
    if not is_allowed:
        raise ConfigError("config-invalid", f"{option} is {value}", fix=f"give a number that is {allowed}")
