"""Vectors of ONNX Runtime are those of torch, whatever texts are read together."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from onym.encoders.encoder import Encoder
from onym.encoders.onnx import encoder as onnx_module
from onym.encoders.onnx.encoder import OnnxEncoder
from onym.encoders.onnx.shape import FAMILIES
from onym.encoders.settings import EncoderSettings
from onym.errors import ConfigError, InputError, OnymError
from onym.testing.tiny_encoder import save_encoder
from onym.testing.tiny_seq2seq import save_tokenizer
from tests.encoders.spoil import configured, cut, rewritten, with_own_code

TEXTS = ["heart attack", "fever", "", "high blood pressure " * 20, "mi", "fever", "</s> <pad>"]


@pytest.fixture
def model(tmp_path: Path, saved: Path) -> Path:
    """Return an encoder that may be spoilt."""
    return shutil.copytree(saved, tmp_path / "model")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooling", ["cls", "mean", "mean-all"])
def test_vectors_are_those_of_torch(tmp_path: Path, family: str, pooling: Any) -> None:
    folder = save_encoder(tmp_path / family, family)
    for own in (EncoderSettings(pooling=pooling), EncoderSettings(pooling=pooling, similarity="cosine", length=12)):
        ours, theirs = OnnxEncoder.open(folder, own), Encoder.open(folder, own, "fp32")
        assert (ours.digest, ours.settings, ours.width) == (theirs.digest, theirs.settings, theirs.width)
        assert ours.config == theirs.config
        np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)


def test_a_vector_does_not_depend_on_the_batch(saved: Path) -> None:
    encoder = OnnxEncoder.open(saved, EncoderSettings(pooling="mean"))
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-5)


def test_a_text_may_be_as_long_as_the_model_can_read(saved: Path) -> None:
    encoder = OnnxEncoder.open(saved, EncoderSettings(length=1000))
    assert encoder.settings.length == 64
    assert np.isfinite(encoder.encode(["a b c " * 1000, "fever"])).all()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: cut(folder, 100),
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: configured(hidden_size=8, num_attention_heads=2)(folder),
        lambda folder: configured(num_hidden_layers=3)(folder),
        lambda folder: configured(vocab_size=100)(folder),
        lambda folder: (folder / "config.json").write_text("{"),
        lambda folder: (folder / "tokenizer.json").write_text("{"),
        lambda folder: save_tokenizer(folder, more=1_000),
    ],
)
def test_a_spoilt_folder_is_refused(model: Path, spoil: Any) -> None:
    spoil(model)
    with pytest.raises(OnymError, match=r"\[(model|tokenizer)-"):
        OnnxEncoder.open(model)


def test_numbers_that_are_none_are_refused(model: Path) -> None:
    huge = torch.finfo(torch.float32).max
    rewritten(model, lambda found: found["encoder.layer.1.output.LayerNorm.weight"].fill_(huge))
    with pytest.raises(InputError, match="model-not-finite"):
        OnnxEncoder.open(model).encode(["fever"])


def test_no_code_of_the_model_is_run(model: Path) -> None:
    mark = with_own_code(model, "AutoModel", "bert")
    (model / "model.onnx").write_bytes(b"a graph of its own")
    OnnxEncoder.open(model).encode(["fever"])
    assert not mark.exists()


@pytest.mark.parametrize(("said", "threads"), [("3", 3), ("0", None), ("many", None), ("", None)])
def test_threads(monkeypatch: pytest.MonkeyPatch, said: str, threads: int | None) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert onnx_module._threads() == (threads or len(__import__("os").sched_getaffinity(0)))


def test_a_family_that_needs_torch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model-family"):
        OnnxEncoder.open(save_encoder(tmp_path / "tiny", "mpnet"))
