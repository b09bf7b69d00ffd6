"""Tests that the adapter for T5, gated or not, agrees with transformers."""

from __future__ import annotations

import pytest
import torch

from onym.methods.generative.decoding.adapters import adapter_of
from tests.methods.generative.decoding.families import logits, model
from tests.methods.generative.decoding.walk import Walk

SOURCES, PROMPTS = [[5, 9, 11, 1], [7, 1]], [[6, 17, 30], []]
kin = pytest.mark.parametrize("family", ["t5", "t5-gated"])


@kin
def test_agrees_with_transformers(family: str) -> None:
    walk = Walk(model(family), SOURCES, PROMPTS)
    walk.read([(0, (4,)), (0, (5,)), (1, (4,)), (1, (4, 8))])
    assert walk.worst < 1e-4


@kin
def test_distances_are_measured_along_the_path(family: str) -> None:
    """The path is longer than T5's exact distance buckets, and its tokens are not in adjacent slots."""
    walk = Walk(model(family), SOURCES, PROMPTS)
    path: tuple[int, ...] = ()
    for token in range(4, 30):
        walk.read([(0, (*path, 3)), (0, (*path, token)), (1, (*path, token))])
        path = (*path, token)
    assert walk.worst < 1e-4


@kin
def test_attributes(family: str) -> None:
    adapter = adapter_of(model(family))
    assert (adapter.start, adapter.eos, adapter.pad, adapter.vocabulary) == (0, 1, 0, 40)
    assert (adapter.layers, adapter.heads, adapter.head_width, adapter.scale) == (2, 2, 4, 1.0)
    assert adapter.max_positions > 100_000
    bias = adapter.bias(torch.tensor([[[0, 1, 40]]]))
    assert bias is not None
    assert bias.shape == (1, 1, 3, 2)


def test_in_bf16() -> None:
    half = model("t5", torch.bfloat16)
    walk = Walk(half, SOURCES, PROMPTS)
    assert walk.worst < 0.1 * float(logits(half, SOURCES[0], PROMPTS[0]).float().std())
