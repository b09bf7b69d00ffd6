"""Tests of choosing the library for an encoder: torch if installed, otherwise ONNX Runtime, which also runs int8 weights."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from onym.errors import ConfigError, OnymError
from onym.models import opening
from onym.models.onnx_encoder import OnnxEncoder
from onym.models.opening import open_encoder
from onym.models.tensors import write_quantized
from onym.models.torch_encoder import Encoder


@pytest.fixture
def small(tmp_path: Path, bert_folder: Path) -> Path:
    write_quantized(bert_folder, tmp_path / "small")
    return tmp_path / "small"


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: None if name in names else find_spec(name))


def test_chooses_torch_or_onnx_runtime(bert_folder: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_encoder(bert_folder, name="mine"), Encoder)
    assert isinstance(open_encoder(small), OnnxEncoder)
    without(monkeypatch, "torch")
    found = open_encoder(bert_folder, name="mine")
    assert isinstance(found, OnnxEncoder)
    assert found.config["model"] == "mine"


def test_missing_libraries(bert_folder: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "onnxruntime")
    assert isinstance(open_encoder(bert_folder), Encoder)
    with pytest.raises(OnymError, match=r"onym\[onnx\]"):
        open_encoder(small)
    without(monkeypatch, "torch", "onnxruntime")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    for folder in (bert_folder, small):
        with pytest.raises(OnymError, match=r"onym\[models\]"):
            open_encoder(folder)


def test_onnx_runtime_supports_only_cpu_and_fp32(small: Path) -> None:
    open_encoder(small, precision="fp32", device="cpu")
    with pytest.raises(ConfigError, match="device-unavailable"):
        open_encoder(small, device="cuda")
    with pytest.raises(ConfigError, match="config-invalid"):
        open_encoder(small, precision="bf16")


def test_torch_is_not_imported(small: Path) -> None:
    code = "import sys; from onym.models.opening import open_encoder\n"
    code += "assert open_encoder(sys.argv[1]).encode(['fever']).shape == (1, 16)\n"
    code += "assert not {'torch', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(small)], check=True)
