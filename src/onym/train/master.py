"""AdamW for weights in bf16: it updates a copy in fp32, and rounds its values to the weights.

A model with weights in bf16 trains faster on a CPU than one that is cast at every operation; but updates smaller than a
256th of a weight would be lost in bf16, but not in the copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_MASTERS = "masters"


class MasterAdamW(torch.optim.AdamW):
    """AdamW on fp32 copies of bf16 weights.

    >>> weight = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    >>> optimizer = MasterAdamW([weight], lr=1e-4)
    >>> weight.grad = torch.ones_like(weight)
    >>> _ = optimizer.step()
    >>> weight.tolist(), optimizer.masters[0].tolist()[0] < 1
    ([1.0, 1.0], True)
    """

    def __init__(self, parameters: Iterable[Tensor], *, undecayed: Iterable[Tensor] = (), **options: Any) -> None:
        """Take over parameters; those that are `undecayed` too are not pulled towards zero."""
        self.moved = [parameter for parameter in parameters if parameter.requires_grad]
        self.masters = [parameter.detach().float().clone().requires_grad_() for parameter in self.moved]
        still = {id(parameter) for parameter in undecayed}
        groups: dict[bool, list[Tensor]] = {True: [], False: []}
        for parameter, master in zip(self.moved, self.masters, strict=True):
            groups[id(parameter) not in still].append(master)
        decayed: dict[str, Any] = {"params": groups[True]}
        super().__init__([decayed, {"params": groups[False], "weight_decay": 0.0}], fused=True, **options)

    def step(self, closure: Any = None) -> Any:
        """Move the copies by the gradients of the weights, and the weights after them."""
        for master, parameter in zip(self.masters, self.moved, strict=True):
            master.grad = None if parameter.grad is None else parameter.grad.float()
        loss = super().step(closure)
        self.publish()
        return loss

    @torch.no_grad()
    def publish(self) -> None:
        """Give the weights the values of their copies."""
        for master, parameter in zip(self.masters, self.moved, strict=True):
            parameter.copy_(master)

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: ARG002 - they are always set to none
        """Forget the gradients of the weights and of their copies."""
        for parameter in (*self.moved, *self.masters):
            parameter.grad = None

    def state_dict(self) -> dict[str, Any]:
        """Return the state with the copies: rounded weights alone would not go on in the same way."""
        return super().state_dict() | {_MASTERS: self.masters}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state, the copies included."""
        rest = dict(state_dict)
        with torch.no_grad():
            for master, kept in zip(self.masters, rest.pop(_MASTERS), strict=True):
                master.copy_(kept)
        super().load_state_dict(rest)
        self.publish()

    def full(self, state: dict[str, Tensor], names: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return a model's state in fp32, its moved weights as the copies have them; `names` are all parameters by name."""
        exact = {id(parameter): master.detach() for parameter, master in zip(self.moved, self.masters, strict=True)}
        for parameter in names.values():  # tied ones remain one tensor, and are saved once
            exact.setdefault(id(parameter), parameter.detach().float())
        return {name: exact[id(names[name])] if name in names else value.float() for name, value in state.items()}
