"""A second device that needs no GPU: tensors say that they are on `meta`, and compute on the CPU.

As on a GPU, a tensor there cannot meet one of the CPU, and has to come back before numpy sees it. A test that runs there finds
what would fail on a GPU; values are those of the CPU.
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
_COPY, _MOVE = torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default  # these alone may see two devices


class Moved(torch.Tensor):
    """A tensor on the second device; `on_cpu` has its values."""

    on_cpu: torch.Tensor

    @staticmethod
    def __new__(cls, values: torch.Tensor) -> Self:
        found: Self = torch.Tensor._make_wrapper_subclass(
            cls, values.size(), strides=values.stride(), dtype=values.dtype, device=DEVICE, requires_grad=False
        )
        found.on_cpu = values
        return found

    def tolist(self) -> Any:
        """Return the values, as torch does for any device."""
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
    """Run an operation on the values; what it makes is where its tensors are, or where it is told to be."""
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    is_there = any(isinstance(each, Moved) for each in tensors)
    if is_there and func not in (_COPY, _MOVE) and any(not isinstance(each, Moved) and each.dim() for each in tensors):
        raise RuntimeError(f"tensors of two devices meet in {func}")
    if kwargs.get("device") is not None:
        is_there = torch.device(kwargs["device"]) == DEVICE
        kwargs = kwargs | {"device": torch.device("cpu")}
    values, options = tree_map(lambda each: each.on_cpu if isinstance(each, Moved) else each, (args, kwargs))
    found = func(*values, **options)
    if values and found is values[0]:  # done in place
        return args[0]
    return tree_map(lambda each: Moved(each) if isinstance(each, torch.Tensor) else each, found) if is_there else found


@contextmanager
def second_device() -> Iterator[torch.device]:
    """Have a second device while this lasts. Inference mode is `no_grad` then: it does not know tensors of other classes."""

    def enter(self: Any) -> None:
        self._inference_mode_context = torch.no_grad()
        self._inference_mode_context.__enter__()

    with pytest.MonkeyPatch.context() as patch, _Mode():  # type: ignore[no-untyped-call]
        patch.setattr(torch.inference_mode, "__enter__", enter)
        yield DEVICE
