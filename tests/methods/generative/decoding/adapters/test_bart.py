"""Tests that the adapter for BART and Marian agrees with transformers."""

from __future__ import annotations

import pytest
import torch

from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.session import TreeSession
from tests.methods.generative.decoding.families import BIOBART, logits, model
from tests.methods.generative.decoding.walk import Walk

SOURCES, PROMPTS = [[5, 9, 11, 2], [7, 2]], [[6, 17, 30], []]
kin = pytest.mark.parametrize("family", ["bart", "bart-scaled", "biobart", "marian"])


@kin
def test_agrees_with_transformers(family: str) -> None:
    walk = Walk(model(family), SOURCES, PROMPTS)
    walk.read([(0, (4,)), (0, (5,)), (1, (4,)), (1, (4, 8))])
    assert walk.worst < 1e-4


@kin
def test_attributes(family: str) -> None:
    found = model(family)
    adapter, config = adapter_of(found), found.config
    assert (adapter.start, adapter.eos, adapter.pad) == (
        config.decoder_start_token_id,
        config.eos_token_id,
        config.pad_token_id,
    )
    assert (adapter.layers, adapter.heads, adapter.head_width, adapter.scale) == (2, 2, 8, 8**-0.5)
    assert (adapter.max_positions, adapter.dtype) == (160, torch.float32)
    assert adapter.bias(torch.zeros(1, 1, 1, dtype=torch.long)) is None


def test_the_whole_vocabulary_is_scored() -> None:
    """BioBART v2 has a different vocabulary size from BART, so the size must not be hard-coded."""
    session = TreeSession(adapter_of(model("biobart")), [[BIOBART - 1, 2]])
    _, found = session.begin([[BIOBART - 2]])
    assert found.shape == (1, session.vocabulary) == (1, BIOBART)
    assert torch.allclose(found[0], logits(model("biobart"), [BIOBART - 1, 2], [BIOBART - 2]), atol=1e-4)


def test_uses_the_output_bias() -> None:
    found = model("marian")
    assert float(found.final_logits_bias.abs().max()) > 0.5  # large enough that other tests fail if it is ignored


def test_in_bf16() -> None:
    half = model("bart", torch.bfloat16)
    walk = Walk(half, SOURCES, PROMPTS)
    assert adapter_of(half).dtype == torch.bfloat16
    assert walk.worst < 0.1 * float(logits(half, SOURCES[0], PROMPTS[0]).float().std())
