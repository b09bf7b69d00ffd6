"""Tests of `vectors_of`, which encoders and training share."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onym.models.settings import EncoderSettings
from onym.models.torch_encoder import vectors_of
from tests.support.models import tiny_encoder

IDS = torch.tensor([[0, 17, 30, 2], [0, 44, 2, 1]])
MASK = (IDS != 1).long()


def test_pooled_and_normalised_as_the_settings_say() -> None:
    model = tiny_encoder()
    hidden = model(IDS, attention_mask=MASK).last_hidden_state
    found = vectors_of(model, IDS, MASK, EncoderSettings())
    assert torch.equal(found, hidden[:, 0])
    mean = vectors_of(model, IDS, MASK, EncoderSettings(pooling="mean", similarity="cosine"))
    assert torch.allclose(mean[1], torch.nn.functional.normalize(hidden[1, :3].mean(0), dim=0), atol=1e-6)
    assert found.requires_grad


@pytest.mark.parametrize(
    ("own", "wanted"), [(torch.bfloat16, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)]
)
def test_vectors_have_at_least_fp32_precision(own: torch.dtype, wanted: torch.dtype) -> None:
    found = vectors_of(tiny_encoder().to(own), IDS, MASK, EncoderSettings(pooling="mean", similarity="cosine"))
    assert found.dtype == wanted
    assert np.allclose(found.detach().norm(dim=1).numpy(), 1, atol=1e-6)
