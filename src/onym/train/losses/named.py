"""Losses over pairs by the names that people call them, with the score that each was published with."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from torch import Tensor

from onym.errors import ConfigError
from onym.train.losses.cpo import cpo
from onym.train.losses.dpo import dpo
from onym.train.losses.log_probs import Score
from onym.train.losses.pairwise import pairwise
from onym.train.losses.preference import Preference
from onym.train.losses.simpo import simpo


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


def loss_named(name: str, **options: float) -> NamedLoss:
    """Return the loss of that name: `dpo`, `cpo`, `simpo` or `pairwise`.

    >>> loss = loss_named("simpo", gamma=0.5)
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
    """Refuse what would turn a preference round, or leave none: such a run learns, and learns the wrong thing."""
    if option == "smoothing":
        is_allowed, allowed = 0 <= value < 0.5, "at least 0 and less than 0.5"
    elif option == "beta":
        is_allowed, allowed = 0 < value < math.inf, "more than 0"
    else:
        is_allowed, allowed = 0 <= value < math.inf, "at least 0"
    if not is_allowed:
        raise ConfigError("config-invalid", f"{option} is {value}", fix=f"give a number that is {allowed}")
