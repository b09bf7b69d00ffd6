"""A fake second device for tests without a GPU: its tensors report the device `meta`, but compute on the CPU.

As on a GPU, its tensors cannot be mixed with CPU tensors, and must be moved to the CPU before they are converted to NumPy. So a
test on this device finds code that would fail on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = torch.device("meta")
# The only operations that may mix tensors of two devices.
_COPY, _MOVE = torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default


class Moved(torch.Tensor):
    """A tensor on the fake device; `on_cpu` holds its values."""

    on_cpu: torch.Tensor

    @staticmethod
    def __new__(cls, values: torch.Tensor) -> Self:
        found: Self = torch.Tensor._make_wrapper_subclass(
            cls, values.size(), strides=values.stride(), dtype=values.dtype, device=DEVICE, requires_grad=False
        )
        found.on_cpu = values
        return found

    def tolist(self) -> Any:
        """Move the tensor to the CPU."""
        return self.on_cpu.tolist()

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


class _Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run an operation on the CPU values. The result is on the device of the inputs, or on the requested device."""
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    is_there = any(isinstance(each, Moved) for each in tensors)
    if is_there and func not in (_COPY, _MOVE) and any(not isinstance(each, Moved) and each.dim() for each in tensors):
        raise RuntimeError(f"{func} mixes tensors of two devices")
    if kwargs.get("device") is not None:
        is_there = torch.device(kwargs["device"]) == DEVICE
        kwargs = kwargs | {"device": torch.device("cpu")}
    values, options = tree_map(lambda each: each.on_cpu if isinstance(each, Moved) else each, (args, kwargs))
    found = func(*values, **options)
    if values and found is values[0]:  # an in-place operation returns its first argument
        return args[0]
    return tree_map(lambda each: Moved(each) if isinstance(each, torch.Tensor) else each, found) if is_there else found


@contextmanager
def second_device() -> Iterator[torch.device]:
    """Enable the fake device. Inference mode is replaced by `no_grad`, because it does not support tensor subclasses."""

    def enter(self: Any) -> None:
        self._inference_mode_context = torch.no_grad()
        self._inference_mode_context.__enter__()

    with pytest.MonkeyPatch.context() as patch, _Mode():  # type: ignore[no-untyped-call]
        patch.setattr(torch.inference_mode, "__enter__", enter)
        yield DEVICE
