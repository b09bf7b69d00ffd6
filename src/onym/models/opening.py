"""Open an encoder with torch. ONNX Runtime is used instead if torch is not installed or the weights are int8."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from onym.errors import ConfigError, missing_extra
from onym.models.device import Precision
from onym.models.encoder import TextEncoder
from onym.models.settings import EncoderSettings
from onym.models.tensors import is_quantized


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
    if not _has("torch") or is_quantized(folder):
        from onym.models.onnx_encoder import OnnxEncoder

        if not _has("onnxruntime"):
            raise missing_extra("an encoder in int8", "onnx")
        _require_cpu(precision, device)
        return OnnxEncoder.open(folder, settings, name=name)
    from onym.models.torch_encoder import Encoder

    return Encoder.open(folder, settings, precision, device=device, name=name)


def require_library() -> None:
    """Raise ConfigError if neither torch nor ONNX Runtime is installed; call this before downloading a model."""
    if not (_has("torch") or _has("onnxruntime")):
        raise missing_extra("an encoder", "dense")


def _has(package: str) -> bool:
    return find_spec(package) is not None


def _require_cpu(precision: Precision, device: str) -> None:
    """Raise ConfigError for GPUs and bf16, which the ONNX Runtime encoder does not support."""
    if device not in ("auto", "cpu"):
        what = f"this encoder runs on ONNX Runtime, which supports only the CPU, not {device}"
        raise ConfigError("device-unavailable", what, fix="use --device cpu, or a float32 encoder with onym[dense]")
    if precision == "bf16":
        what = "this encoder runs on ONNX Runtime, which supports only fp32 here"
        raise ConfigError("config-invalid", what, fix="use --dtype fp32, or a float32 encoder with onym[dense]")
