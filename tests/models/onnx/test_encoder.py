"""Tests that the vectors of ONNX Runtime match the vectors of torch, and do not depend on the batch."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from onym.errors import ConfigError, InputError, LimitError, OnymError
from onym.models import onnx_encoder as onnx_module
from onym.models import onnx_session
from onym.models.onnx_encoder import OnnxEncoder
from onym.models.settings import EncoderSettings
from onym.models.shape import FAMILIES
from onym.models.torch_encoder import Encoder
from tests.models.spoil import change_config, cut, rewrite_weights, with_own_code
from tests.support.models import save_encoder, save_tokenizer

TEXTS = ["heart attack", "fever", "", "high blood pressure " * 20, "mi", "fever", "</s> <pad>"]


@pytest.fixture
def model(tmp_path: Path, bert_folder: Path) -> Path:
    """Return a copy of an encoder that the test may modify."""
    return shutil.copytree(bert_folder, tmp_path / "model")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooling", ["cls", "mean", "mean-all"])
def test_vectors_match_torch(tmp_path: Path, family: str, pooling: Any) -> None:
    folder = save_encoder(tmp_path / family, family)
    for own in (EncoderSettings(pooling=pooling), EncoderSettings(pooling=pooling, similarity="cosine", length=12)):
        ours, theirs = OnnxEncoder.open(folder, own), Encoder.open(folder, own, "fp32")
        assert (ours.digest, ours.settings, ours.width) == (theirs.digest, theirs.settings, theirs.width)
        assert ours.config == theirs.config
        np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)


def test_vectors_do_not_depend_on_the_batch(bert_folder: Path) -> None:
    encoder = OnnxEncoder.open(bert_folder, EncoderSettings(pooling="mean"))
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-5)


def test_text_up_to_maximum_length(bert_folder: Path) -> None:
    encoder = OnnxEncoder.open(bert_folder, EncoderSettings(length=1000))
    assert encoder.settings.length == 64
    assert np.isfinite(encoder.encode(["a b c " * 1000, "fever"])).all()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: cut(folder, 100),
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: change_config(hidden_size=8, num_attention_heads=2)(folder),
        lambda folder: change_config(num_hidden_layers=3)(folder),
        lambda folder: change_config(vocab_size=100)(folder),
        lambda folder: (folder / "config.json").write_text("{"),
        lambda folder: (folder / "tokenizer.json").write_text("{"),
        lambda folder: save_tokenizer(folder, more=1_000),
    ],
)
def test_rejects_damaged_folder(model: Path, spoil: Any) -> None:
    spoil(model)
    with pytest.raises(OnymError, match=r"\[(model|tokenizer|limit)-"):
        OnnxEncoder.open(model)


def test_rejects_nan_and_infinity(model: Path) -> None:
    huge = torch.finfo(torch.float32).max
    rewrite_weights(model, lambda found: found["encoder.layer.1.output.LayerNorm.weight"].fill_(huge))
    with pytest.raises(InputError, match="model-not-finite"):
        OnnxEncoder.open(model).encode(["fever"])


def test_model_code_is_not_run(model: Path) -> None:
    mark = with_own_code(model, "AutoModel", "bert")
    (model / "model.onnx").write_bytes(b"a graph of its own")
    OnnxEncoder.open(model).encode(["fever"])
    assert not mark.exists()


def test_old_weight_names_of_bert(model: Path, bert_folder: Path) -> None:
    def rename(found: dict[str, torch.Tensor]) -> None:
        for name in [name for name in found if "LayerNorm." in name]:
            old = name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta")
            found[old] = found.pop(name)

    rewrite_weights(model, rename)
    assert np.array_equal(OnnxEncoder.open(model).encode(TEXTS), OnnxEncoder.open(bert_folder).encode(TEXTS))


def test_rejects_too_large_attention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_encoder(tmp_path / "tiny", positions=64)
    monkeypatch.setattr(onnx_session, "_MAX_CELLS", 2 * 50**2)
    OnnxEncoder.open(folder, EncoderSettings(length=50))
    with pytest.raises(LimitError, match="limit-model"):
        OnnxEncoder.open(folder, EncoderSettings(length=51))


def test_batches_shrink_for_long_texts(bert_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = OnnxEncoder.open(bert_folder)
    before, sizes, own = encoder.encode(TEXTS), list[int](), encoder._compute
    monkeypatch.setattr(onnx_module, "_CELLS", 2_000)

    def note_batch(ids: Any, mask: Any) -> Any:
        sizes.append(ids.size)
        return own(ids, mask)

    monkeypatch.setattr(encoder, "_compute", note_batch)
    np.testing.assert_allclose(encoder.encode(TEXTS), before, atol=1e-5)
    assert len(sizes) > 1


def test_runtime_error_does_not_quote_input(bert_folder: Path) -> None:
    encoder = OnnxEncoder.open(bert_folder)
    with pytest.raises(InputError, match="model-malformed") as caught:
        encoder._vectors(np.array([[10**6]]), np.array([[1]]))
    assert "1000000" not in str(caught.value)


@pytest.mark.parametrize(("said", "threads"), [("3", 3), ("0", None), ("many", None), ("", None)])
def test_number_of_threads(monkeypatch: pytest.MonkeyPatch, said: str, threads: int | None) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert onnx_session._threads() == (threads or os.cpu_count())


def test_rejects_family_that_needs_torch(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model-family"):
        OnnxEncoder.open(save_encoder(tmp_path / "tiny", "mpnet"))
