"""Resolve the device and the precision of models, for inference and training.

torch is imported only when a device is resolved, so that configurations can use these types without torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from onym.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    import torch

Device = Annotated[str, Field(pattern=r"^(auto|cpu|mps|cuda(:\d{1,3})?)$")]
"""`auto`, `cpu`, `cuda`, `cuda:N` or `mps`. `auto` is the first GPU, else the CPU."""
Precision = Literal["auto", "fp32", "bf16"]
"""`auto` is bf16 if the device supports it in hardware, else fp32."""


def resolve_device(name: str = "auto") -> torch.device:
    """Return the device with this name; `auto` is the first of CUDA, MPS and CPU that is available.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    library = _torch()
    available = _available()
    if name == "auto":
        name = next(kind for kind in ("cuda:0", "mps", "cpu") if kind in available)
    elif name == "cuda" and "cuda:0" in available:
        name = f"cuda:{library.cuda.current_device()}"
    if name not in available:
        fix = f"use one of {', '.join(['auto', *available])}"
        raise ConfigError("device-unavailable", f"device {name!r} is not available", fix=fix)
    device: torch.device = library.device(name)
    return device


def resolve_precision(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """Return the precision to compute in. `auto` is bf16 if the hardware supports it, else fp32, which is then faster.

    >>> import torch
    >>> resolve_precision("bf16", torch.device("cpu"))
    'bf16'
    """
    if precision != "auto":
        return precision
    return "bf16" if _has_bf16(device) else "fp32"


def _has_bf16(device: torch.device) -> bool:
    """Return whether a device supports bf16 in hardware: CPUs with AMX or AVX512-BF16, most NVIDIA GPUs since 2020."""
    library = _torch()
    if device.type == "cuda":
        return bool(library.cuda.is_bf16_supported(including_emulation=False))
    is_cpu = device.type == "cpu"
    return is_cpu and bool(library.cpu._is_amx_tile_supported() or library.cpu._is_avx512_bf16_supported())  # noqa: SLF001


def _available() -> list[str]:
    library = _torch()
    gpus = [f"cuda:{number}" for number in range(library.cuda.device_count())] if library.cuda.is_available() else []
    return ["cpu", *gpus, *(["mps"] if library.backends.mps.is_available() else [])]


def _torch() -> Any:
    try:
        import torch
    except ImportError as e:
        raise missing_extra("a model", "models") from e
    return torch
