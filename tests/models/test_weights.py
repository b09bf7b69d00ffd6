"""Tests of reading tensors from files: header limits and supported types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from onym.errors import InputError, LimitError
from onym.models.torch_loading import read_tensors, read_weights
from onym.store.limits import Limits


def write_safetensors(path: Path, header: Any, body: bytes = b"") -> Path:
    """Write a safetensors file with a given header."""
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(data).to_bytes(8, "little") + data + body)
    return path


def tensor(start: int, end: int, shape: list[int] | None = None, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape or [(end - start) // 4], "data_offsets": [start, end]}


def test_reads_all_shards(tmp_path: Path) -> None:
    for name in "ab":
        save_file({name: torch.ones(2)}, tmp_path / f"{name}.safetensors")
    index = {"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert sorted(read_weights(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64])
def test_supported_types(tmp_path: Path, kind: torch.dtype) -> None:
    save_file({"a": torch.ones(2, dtype=kind)}, tmp_path / "a")
    assert torch.equal(read_tensors(tmp_path / "a")["a"], torch.ones(2, dtype=kind))


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.int8, torch.float8_e4m3fn, torch.complex64])
def test_rejects_other_types(tmp_path: Path, kind: torch.dtype) -> None:
    save_file({"a": torch.ones(2).to(kind)}, tmp_path / "a")
    with pytest.raises(InputError, match="model-malformed"):
        read_tensors(tmp_path / "a")


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ({"a": tensor(0, 8)}, b"\0" * 4),
        ({"a": tensor(0, 8)}, b"\0" * 12),
        ({"a": tensor(4, 12)}, b"\0" * 12),
        ({"a": tensor(0, 8), "b": tensor(4, 12)}, b"\0" * 12),
        ({"a": tensor(0, 8, [2**40, 2**40])}, b"\0" * 8),
        ({"a": tensor(0, 8, [-1])}, b"\0" * 8),
        ({"a": tensor(8, 0)}, b"\0" * 8),
        ({"a": tensor(0, 8, dtype="Q7")}, b"\0" * 8),
        ({"a": 3}, b""),
        ([], b""),
        (b"{", b""),
        (b"\xff\xff", b""),
        (b"[" * 1_000_000, b""),
    ],
)
def test_rejects_inconsistent_headers(tmp_path: Path, header: Any, body: bytes) -> None:
    with pytest.raises(InputError, match="model-malformed"):
        read_tensors(write_safetensors(tmp_path / "a", header, body))


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\0" * 8])
def test_rejects_files_without_header(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(InputError, match="model-malformed"):
        read_tensors(tmp_path / "a")


def test_rejects_large_header_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({"a": torch.ones(2)}, tmp_path / "a")
    monkeypatch.setattr("onym.models.tensors.DEFAULT_LIMITS", Limits(model_header_bytes=10))
    with pytest.raises(LimitError, match="limit-model"):
        read_tensors(tmp_path / "a")


def test_rejects_too_many_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({name: torch.ones(2) for name in "abc"}, tmp_path / "model.safetensors")
    assert len(read_weights(tmp_path)) == 3
    monkeypatch.setattr("onym.models.tensors.DEFAULT_LIMITS", Limits(model_tensors=2))
    with pytest.raises(LimitError, match="limit-model"):
        read_weights(tmp_path)
