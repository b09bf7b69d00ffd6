"""The two savings give what the whole forward pass gives, and really save."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from onym.train.generative.collate import NameCollate
from onym.train.generative.forward_hooks import head_where, sources_once
from onym.train.losses.log_probs import IGNORED
from onym.train.samples.base import Batch
from tests.decoding.families import FAMILIES
from tests.decoding.families import model as family_model
from tests.train.tiny import pairs, samples

SMALL = sorted(name for name in FAMILIES if name != "biobart")
TOKENS = 40


@pytest.fixture(params=SMALL)
def model(request: pytest.FixtureRequest) -> Any:
    """Return a model of a family; its random weights, biases and the head's own among them, all matter."""
    return family_model(request.param)


def small(batch: Batch) -> Batch:
    """Return a batch for models that know 40 tokens."""
    return {
        name: value if name in ("attention_mask", "reference") else torch.where(value == IGNORED, value, value % TOKENS)
        for name, value in batch.items()
    }


def forward(model: Any, batch: Batch) -> Tensor:
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "decoder_input_ids")}
    logits: Tensor = model(**inputs, use_cache=False).logits
    return logits


def rows_of(part: Any, sizes: list[tuple[int, ...]]) -> Any:
    return part.register_forward_hook(lambda _, __, output: sizes.append(tuple(output.shape)))


def test_the_head_is_computed_where_it_is_wanted_alone(model: Any) -> None:
    batch = small(NameCollate(2, 2, 1)(samples(6).samples))
    is_labelled = batch["labels"] != IGNORED
    whole = forward(model, batch)
    sizes: list[tuple[int, ...]] = []
    handle = rows_of(model.get_output_embeddings(), sizes)
    with head_where(model, is_labelled):
        some = forward(model, batch)
    handle.remove()
    assert sizes == [(int(is_labelled.sum()), TOKENS)]
    assert some.shape == (int(is_labelled.sum()), TOKENS)
    torch.testing.assert_close(some, whole[is_labelled], rtol=0, atol=1e-5)
    torch.testing.assert_close(forward(model, batch), whole)


def test_gradients_are_those_of_the_whole(model: Any) -> None:
    batch = small(NameCollate(2, 2, 1)(samples(6).samples))
    is_labelled = batch["labels"] != IGNORED
    forward(model, batch)[is_labelled].square().sum().backward()  # type: ignore[no-untyped-call]
    whole = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    with head_where(model, is_labelled):
        forward(model, batch).square().sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        expected = whole[name]
        assert (parameter.grad is None) == (expected is None)
        if expected is not None:
            torch.testing.assert_close(parameter.grad, expected, rtol=1e-4, atol=1e-4)
    model.zero_grad()


def test_each_source_is_read_once(model: Any) -> None:
    batch = small(NameCollate(2, 2, 1).pairs(pairs(3).samples))
    whole = forward(model, batch)
    sizes: list[tuple[int, ...]] = []
    with sources_once(model, 2):
        inner = model.get_encoder().layers if hasattr(model.get_encoder(), "layers") else model.get_encoder().block
        handle = inner[0].register_forward_pre_hook(lambda _, arguments: sizes.append(tuple(arguments[0].shape)))
        once = forward(model, batch)
        handle.remove()
    assert [size[0] for size in sizes] == [3]
    assert len(batch["input_ids"]) == 6
    torch.testing.assert_close(once, whole, rtol=0, atol=1e-5)
    torch.testing.assert_close(forward(model, batch), whole)


def test_hooks_are_gone_even_after_an_error(model: Any) -> None:
    batch = small(NameCollate(2, 2, 1)(samples(2).samples))
    whole = forward(model, batch)
    for saving in (head_where(model, torch.ones(1, 1, dtype=torch.bool)), sources_once(model, 2)):
        with pytest.raises(RuntimeError, match="stop"), saving:
            raise RuntimeError("stop")
    assert torch.equal(forward(model, batch), whole)
