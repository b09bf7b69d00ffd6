"""Choose the library that runs a model: torch, or ONNX Runtime if torch is not installed or the weights are int8."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from onym.errors import ConfigError, missing_extra
from onym.models.device import Precision
from onym.models.encoder import TextEncoder
from onym.models.settings import EncoderSettings
from onym.models.tensors import is_quantized
from onym.parts import ReaderEngine


def open_encoder(
    folder: Path | str,
    settings: EncoderSettings | None = None,
    precision: Precision = "auto",
    *,
    device: str = "auto",
    name: str = "",
) -> TextEncoder:
    """Open the encoder in a folder; `settings` default to the settings stored in the folder.

    `name` overrides the folder name in result metadata.
    """
    require_library()
    folder = Path(folder)
    if choose_engine(folder) == "onnx":
        from onym.models.onnx_encoder import OnnxEncoder

        if not _has("onnxruntime"):
            raise missing_extra("an encoder in int8", "onnx")
        require_cpu(device)
        _require_fp32(precision)
        return OnnxEncoder.open(folder, settings, name=name)
    from onym.models.torch_encoder import Encoder

    return Encoder.open(folder, settings, precision, device=device, name=name)


def choose_engine(folder: Path, engine: ReaderEngine = "auto") -> Literal["torch", "onnx"]:
    """Return the library for the model in a folder."""
    if engine != "auto":
        return engine
    return "onnx" if not _has("torch") or is_quantized(folder) else "torch"


def require_library(what: str = "an encoder", engine: ReaderEngine = "auto") -> None:
    """Raise ConfigError if no library for the engine is installed; call this before downloading a model."""
    libraries = {"auto": ("torch", "onnxruntime"), "torch": ("torch",), "onnx": ("onnxruntime",)}[engine]
    if not any(map(_has, libraries)):
        raise missing_extra(what, "onnx" if engine == "onnx" else "models")


def _has(package: str) -> bool:
    return find_spec(package) is not None


def require_cpu(device: str) -> None:
    """Raise ConfigError for GPUs, on which ONNX Runtime does not run here."""
    if device not in ("auto", "cpu"):
        what = f"this encoder runs on ONNX Runtime, which supports only the CPU, not {device}"
        raise ConfigError("device-unavailable", what, fix="use --device cpu, or a float32 encoder with onym[models]")


def _require_fp32(precision: Precision) -> None:
    if precision == "bf16":
        what = "this encoder runs on ONNX Runtime, which supports only fp32 here"
        raise ConfigError("config-invalid", what, fix="use --dtype fp32, or a float32 encoder with onym[models]")
