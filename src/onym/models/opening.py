"""Opens an encoder with what is installed: torch, or ONNX Runtime where there is no torch, and for weights in int8."""

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
    """Open the encoder of a folder; where no settings are given, the folder's own count.

    `name` is what the model is called beside results, where that is not the folder's name.
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
    """Refuse, before a model is fetched, to open an encoder where nothing is installed that could compute it."""
    if not (_has("torch") or _has("onnxruntime")):
        raise missing_extra("an encoder", "dense")


def _has(package: str) -> bool:
    return find_spec(package) is not None


def _require_cpu(precision: Precision, device: str) -> None:
    """Refuse what ONNX Runtime is not used for here."""
    if device not in ("auto", "cpu"):
        what = f"ONNX Runtime computes this encoder on the CPU, not on {device}"
        raise ConfigError("device-unavailable", what, fix="use --device cpu, or an encoder in float32 with onym[dense]")
    if precision == "bf16":
        what = "ONNX Runtime computes this encoder in fp32"
        raise ConfigError("config-invalid", what, fix="use --dtype fp32, or an encoder in float32 with onym[dense]")
