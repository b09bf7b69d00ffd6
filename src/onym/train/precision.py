"""The device and the precision of a training run, sharding by FSDP, and AdamW for weights in bf16."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor

from onym.errors import ConfigError
from onym.models.device import resolve_device, resolve_precision
from onym.train.configs import OptimConfig

_MASTERS = "masters"


def training_device(optim: OptimConfig) -> torch.device:
    """Return the device to train on; of several processes each has a GPU of its own.

    >>> training_device(OptimConfig(device="cpu"))
    device(type='cpu')
    """
    device = resolve_device("cpu" if os.environ.get("ACCELERATE_USE_CPU", "").lower() == "true" else optim.device)
    rank = os.environ.get("LOCAL_RANK")
    return torch.device("cuda", int(rank)) if device.type == "cuda" and rank else device


def training_precision(optim: OptimConfig) -> Literal["fp32", "bf16", "bf16-weights"]:
    """Return the precision to train in; `auto` is the fastest of the device.

    On a CPU with bf16 that is `bf16-weights`, unless FSDP shards the weights; on a GPU with bf16 it is `bf16`.

    >>> training_precision(OptimConfig(precision="bf16-weights"))
    'bf16-weights'
    """
    if optim.precision != "auto":
        return optim.precision
    device = training_device(optim)
    precision = resolve_precision("auto", device)
    return "bf16-weights" if precision == "bf16" and device.type == "cpu" and not is_sharded() else precision


def is_sharded() -> bool:
    """Return whether this process holds a shard of a model: accelerate was configured to use FSDP."""
    return os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"


def require_shardable(precision: str) -> None:
    """Refuse weights in bf16 with a copy in fp32: the copy would be of a shard that is elsewhere.

    >>> require_shardable("bf16-weights")
    """
    if is_sharded() and precision == "bf16-weights":
        what = "optim.precision: weights in bf16 cannot be sharded by FSDP"
        raise ConfigError("config-invalid", what, fix='set optim.precision to "bf16"')


def one_embedding(model: Any) -> Any:
    """Make the embeddings of encoder and decoder the very module that they share their weights with.

    Each module is in one group of FSDP 2, and a weight may be in one group alone. Numbers and names stay as they are.
    """
    if not model.config.is_encoder_decoder:
        return model
    shared = model.get_input_embeddings()
    for stack in (model.get_encoder(), model.get_decoder()):
        own = getattr(stack, "embed_tokens", None)
        if own is not None and own.weight is shared.weight:
            stack.embed_tokens = shared
    return model


def drop_tied_copies(state: dict[str, Tensor], model: Any) -> dict[str, Tensor]:
    """Return a state with every weight once: gathered from all devices, tied ones have become copies."""
    again = dict(model.named_parameters(remove_duplicate=False)).keys() - dict(model.named_parameters()).keys()
    return {name: value for name, value in state.items() if name not in again}


class MasterAdamW(torch.optim.AdamW):
    """AdamW on fp32 copies of bf16 weights: it updates the copies, and rounds their values to the weights.

    A model with weights in bf16 trains faster on a CPU than one that is cast at every operation. Updates smaller than a 256th
    of a weight would be lost in bf16; in the copy they are kept.

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
