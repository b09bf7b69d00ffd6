"""Two savings in a model's forward pass, by hooks on its own parts, so that any wrapper of it (DDP, FSDP) still works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn


@contextmanager
def head_where(model: Any, is_wanted: Tensor) -> Iterator[None]:
    """Have the vocabulary's scores computed where they are wanted alone: they come as (wanted tokens, vocabulary).

    A name has about seven tokens and its prompt as many more; the head is a third of a small model's work.
    """

    def only_wanted(_: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (arguments[0][is_wanted], *arguments[1:])

    handle = model.get_output_embeddings().register_forward_pre_hook(only_wanted)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def sources_once(model: Any, copies: int) -> Iterator[None]:
    """Have the encoder read each source once, though it stands in the batch `copies` times in a row."""

    def first_of_each(_: nn.Module, arguments: Any, keywords: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        def cut(value: Any) -> Any:
            return value[::copies] if isinstance(value, Tensor) else value

        return tuple(map(cut, arguments)), {name: cut(value) for name, value in keywords.items()}

    def for_each(_: nn.Module, __: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state.repeat_interleave(copies, dim=0)
        return output

    encoder = model.get_encoder()
    handles = [encoder.register_forward_pre_hook(first_of_each, with_kwargs=True), encoder.register_forward_hook(for_each)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
