"""Encoders that ONNX Runtime computes: each hostile encoder once more, and those that would do harm only there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.hostile_models.case import Case, Spoil, both, changed, tensors, value

_QUERY = "encoder.layer.0.attention.self.query"
_POSITIONS = "embeddings.position_embeddings.weight"
_HUGE = 3e38


def once_more(cases: Iterable[Case]) -> list[Case]:
    """Return the cases of encoders, for ONNX Runtime."""
    return [replace(case, kind="onnx") for case in cases if case.kind == "encoder"]


def _positions(count: int, pooling: str) -> Spoil:
    """Let the model read so many tokens, of which a text is filled up to if padding counts."""

    def longer(found: dict[str, Any]) -> None:
        found[_POSITIONS] = found[_POSITIONS][:1].repeat(count, 1)

    sizes = changed("config.json", max_position_embeddings=count)
    return both(sizes, tensors(longer), value("encoder.json", {"pooling": pooling, "length": min(count, 100_000)}))


def _graph(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"\x08\x0a" + b"\x00" * 100)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").symlink_to("../../outside/model.safetensors")


def _int8(scale: Any, name: str = f"{_QUERY}.weight") -> Spoil:
    """Let a weight be integers with scales."""

    def change(found: dict[str, Any]) -> None:
        found[name] = torch.ones_like(found[name], dtype=torch.int8)
        if scale is not None:
            found[f"{name}_scale"] = scale

    return tensors(change)


_SPOILS: dict[str, Spoil] = {
    "attention-to-padding": _positions(8_192, "mean-all"),
    "attention-without-end": _positions(1_000_000, "mean-all"),
    "many-heads": both(_positions(4_096, "mean-all"), changed("config.json", num_attention_heads=16)),
    "decoder": changed("config.json", is_decoder=True),
    "cross-attention": changed("config.json", is_decoder=True, add_cross_attention=True),
    "integers-without-scales": _int8(None),
    "scales-too-few": _int8(torch.ones(3)),
    "scales-of-another-shape": _int8(torch.ones(16, 16)),
    "scales-that-are-none": _int8(torch.full((16,), torch.nan)),
    "scales-without-end": _int8(torch.full((16,), _HUGE)),
    "scales-as-integers": _int8(torch.ones(16, dtype=torch.int64)),
    "integers-for-a-bias": _int8(torch.ones(16), f"{_QUERY}.bias"),
    "integers-for-words": _int8(None, "embeddings.word_embeddings.weight"),
}
CASES: tuple[Case, ...] = tuple(Case(f"onnx-{name}", "onnx", spoil) for name, spoil in _SPOILS.items())
GRAPH = Case("onnx-graph", "onnx", _graph)
"""A file with a graph of its own, which is not read; the link in it leads out of the folder."""
