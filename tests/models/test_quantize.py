"""Tests of quantising an encoder to int8: only the weights file changes, and the vectors stay nearly the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.models.onnx_encoder import OnnxEncoder
from onym.models.tensors import write_quantized
from tests.models.test_modules import save_modules
from tests.support.models import save_encoder

TEXTS = ["heart attack", "fever", "high blood pressure"]


def test_other_files_are_copied_unchanged(tmp_path: Path) -> None:
    source = save_encoder(tmp_path / "tiny")
    save_modules(source)
    write_quantized(source, tmp_path / "small")
    names = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    assert {path.relative_to(tmp_path / "small") for path in (tmp_path / "small").rglob("*") if path.is_file()} == names
    differ = {str(name) for name in names if (source / name).read_bytes() != (tmp_path / "small" / name).read_bytes()}
    assert differ == {"model.safetensors"}
    assert (tmp_path / "small/model.safetensors").stat().st_size < 0.5 * (source / "model.safetensors").stat().st_size


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_vectors_are_close_to_the_original(tmp_path: Path, family: str) -> None:
    source = save_encoder(tmp_path / "tiny", family)
    write_quantized(source, tmp_path / "small")
    full, small = (OnnxEncoder.open(each) for each in (source, tmp_path / "small"))
    one, other = full.encode(TEXTS), small.encode(TEXTS)
    cosines = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert cosines.min() > 0.999
    assert not np.array_equal(one, other)
    assert (full.precision, small.precision) == ("float32", "int8")
    assert full.digest != small.digest
    assert full.config["parameters"] == small.config["parameters"]


def test_quantising_twice_changes_nothing(tmp_path: Path) -> None:
    write_quantized(save_encoder(tmp_path / "tiny"), tmp_path / "small")
    write_quantized(tmp_path / "small", tmp_path / "again")
    assert (tmp_path / "small/model.safetensors").read_bytes() == (tmp_path / "again/model.safetensors").read_bytes()


def test_rejects_encoder_that_needs_torch(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model-family"):
        write_quantized(save_encoder(tmp_path / "tiny", "mpnet"), tmp_path / "small")
    assert not (tmp_path / "small").exists()
