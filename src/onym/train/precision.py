"""Device, precision and FSDP sharding of a training run, and AdamW for bf16 weights."""

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
    """Return the device to train on; each of several processes gets its own GPU.

    >>> training_device(OptimConfig(device="cpu"))
    device(type='cpu')
    """
    device = resolve_device("cpu" if os.environ.get("ACCELERATE_USE_CPU", "").lower() == "true" else optim.device)
    rank = os.environ.get("LOCAL_RANK")
    return torch.device("cuda", int(rank)) if device.type == "cuda" and rank else device


def training_precision(optim: OptimConfig) -> Literal["fp32", "bf16", "bf16-weights"]:
    """Return the precision to train in; `auto` is the fastest that the device supports.

    That is `bf16` on a GPU with bf16. On a CPU with bf16 it is `bf16-weights`, or `bf16` if FSDP shards the weights.

    >>> training_precision(OptimConfig(precision="bf16-weights"))
    'bf16-weights'
    """
    if optim.precision != "auto":
        return optim.precision
    device = training_device(optim)
    precision = resolve_precision("auto", device)
    return "bf16-weights" if precision == "bf16" and device.type == "cpu" and not is_sharded() else precision


def is_sharded() -> bool:
    """Return whether accelerate is configured to use FSDP, so that this process holds only a shard of the model."""
    return os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"


def require_shardable(precision: str) -> None:
    """Raise ConfigError for `bf16-weights` with FSDP: the fp32 master copy would be made before the weights are sharded.

    >>> require_shardable("bf16-weights")
    """
    if is_sharded() and precision == "bf16-weights":
        what = 'optim.precision: "bf16-weights" does not work with FSDP'
        raise ConfigError("config-invalid", what, fix='set optim.precision to "bf16"')


def one_embedding(model: Any) -> Any:
    """Make the encoder and decoder of a seq2seq model use the same embedding module, if they share its weights.

    FSDP 2 assigns modules to groups, and a weight must be in only one group. Parameter names and values do not change.
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
    """Remove copies of tied weights from a state dict; gathering shards from all devices stores a copy under each name."""
    again = dict(model.named_parameters(remove_duplicate=False)).keys() - dict(model.named_parameters()).keys()
    return {name: value for name, value in state.items() if name not in again}


class MasterAdamW(torch.optim.AdamW):
    """AdamW with fp32 master copies of bf16 weights: it updates the copies, then rounds them to the bf16 weights.

    On a CPU, bf16 weights train faster than autocast. Updates smaller than 1/256 of a weight would be lost in bf16; the master
    copy keeps them.

    >>> weight = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    >>> optimizer = MasterAdamW([weight], lr=1e-4)
    >>> weight.grad = torch.ones_like(weight)
    >>> _ = optimizer.step()
    >>> weight.tolist(), optimizer.masters[0].tolist()[0] < 1
    ([1.0, 1.0], True)
    """

    def __init__(self, parameters: Iterable[Tensor], *, undecayed: Iterable[Tensor] = (), **options: Any) -> None:
        """Make master copies of the parameters; parameters in `undecayed` get no weight decay."""
        self.moved = [parameter for parameter in parameters if parameter.requires_grad]
        self.masters = [parameter.detach().float().clone().requires_grad_() for parameter in self.moved]
        still = {id(parameter) for parameter in undecayed}
        groups: dict[bool, list[Tensor]] = {True: [], False: []}
        for parameter, master in zip(self.moved, self.masters, strict=True):
            groups[id(parameter) not in still].append(master)
        decayed: dict[str, Any] = {"params": groups[True]}
        super().__init__([decayed, {"params": groups[False], "weight_decay": 0.0}], fused=True, **options)

    def step(self, closure: Any = None) -> Any:
        """Update the master copies with the gradients of the weights, then copy them to the weights."""
        for master, parameter in zip(self.masters, self.moved, strict=True):
            master.grad = None if parameter.grad is None else parameter.grad.float()
        loss = super().step(closure)
        self.publish()
        return loss

    @torch.no_grad()
    def publish(self) -> None:
        """Copy the master copies, rounded, to the weights."""
        for master, parameter in zip(self.masters, self.moved, strict=True):
            parameter.copy_(master)

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: ARG002 - gradients are always set to None
        """Set the gradients of the weights and of their master copies to None."""
        for parameter in (*self.moved, *self.masters):
            parameter.grad = None

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer state including the master copies, which an exact resume needs."""
        return super().state_dict() | {_MASTERS: self.masters}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load an optimizer state including the master copies."""
        rest = dict(state_dict)
        with torch.no_grad():
            for master, kept in zip(self.masters, rest.pop(_MASTERS), strict=True):
                master.copy_(kept)
        super().load_state_dict(rest)
        self.publish()

    def full(self, state: dict[str, Tensor], names: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return a state dict in fp32, with trained weights taken from the master copies; `names` maps names to parameters."""
        exact = {id(parameter): master.detach() for parameter, master in zip(self.moved, self.masters, strict=True)}
        for parameter in names.values():  # give tied weights the same tensor, so that it is saved only once
            exact.setdefault(id(parameter), parameter.detach().float())
        return {name: exact[id(names[name])] if name in names else value.float() for name, value in state.items()}


def at_least_fp32(values: Tensor) -> Tensor:
    """Return values as float32 if their precision is lower; float64 stays float64.

    >>> at_least_fp32(torch.zeros(2, dtype=torch.bfloat16)).dtype, at_least_fp32(torch.zeros(2, dtype=torch.float64)).dtype
    (torch.float32, torch.float64)
    """
    return values.to(torch.promote_types(values.dtype, torch.float32))
