"""Tests of reading safetensors as arrays, and of int8 quantisation with a scale per row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

from onym.errors import InputError, LimitError
from onym.models.tensors import Arrays, is_quantized, parameters_of, quantize, read_arrays, require_small_header, scales_of
from onym.store.limits import DEFAULT_LIMITS

MATRICES = arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.floats(-1e6, 1e6, width=32))


@given(MATRICES)
def test_int8_error_is_at_most_half_a_step(matrix: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> None:
    found = quantize({"weight": matrix})
    scales = scales_of(found, "weight")
    assert scales is not None
    step = scales[:, None]
    assert (np.abs(found["weight"] * step - matrix) <= 0.5001 * step + 1e-6).all()
    assert found["weight"].min() >= -127


def test_only_float_matrices_are_quantised(tmp_path: Path) -> None:
    own: Arrays = {"weight": np.ones((2, 3), np.float32), "bias": np.ones(2, np.float16), "ids": np.arange(3)[None]}
    first = quantize(own)
    assert (str(first["bias"].dtype), str(first["ids"].dtype)) == ("float32", "int64")
    again = quantize(first)
    assert {name: values.tobytes() for name, values in again.items()} == {name: v.tobytes() for name, v in first.items()}
    assert scales_of(first, "bias") is None
    assert scales_of(first, "nothing") is None
    assert parameters_of(first) == parameters_of(own) == 8
    save_file(own, tmp_path / "model.safetensors")
    assert not is_quantized(tmp_path)
    save_file(first, tmp_path / "model.safetensors")
    assert is_quantized(tmp_path)
    assert read_arrays(tmp_path)["weight"].dtype == np.int8


def test_empty_matrices_and_nan() -> None:
    assert quantize({"weight": np.zeros((3, 0), np.float32)})["weight"].shape == (3, 0)
    for value in (np.nan, np.inf):
        with pytest.raises(InputError, match="model-not-finite"):
            quantize({"weight": np.full((2, 2), value, np.float32)})


@pytest.mark.parametrize("scales", [None, np.ones(3, np.float32), np.ones((2, 1), np.float32), np.ones(2, np.float64)])
def test_rejects_invalid_scales(scales: np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None) -> None:
    found = {"weight": np.ones((2, 3), np.int8)} | ({} if scales is None else {"weight_scale": scales})
    with pytest.raises(InputError, match="model-malformed"):
        scales_of(found, "weight")


def test_shards(tmp_path: Path) -> None:
    for name in "ab":
        save_file({name: np.ones(2, np.float32)}, tmp_path / f"{name}.safetensors")
    index = {"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert sorted(read_arrays(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.bool, torch.float8_e4m3fn])
def test_rejects_types_that_need_torch(tmp_path: Path, kind: torch.dtype) -> None:
    save_torch({"a": torch.ones(2).to(kind)}, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="model-malformed"):
        read_arrays(tmp_path)


@pytest.mark.parametrize("size", [0, 7, 30, -4])
def test_rejects_truncated_file(tmp_path: Path, size: int) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"a": np.ones(20, np.float32)}, path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(InputError, match="model-malformed"):
        read_arrays(tmp_path)


def test_rejects_large_header(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes((DEFAULT_LIMITS.model_header_bytes + 1).to_bytes(8, "little"))
    for read in (lambda: require_small_header(path), lambda: read_arrays(tmp_path)):
        with pytest.raises(LimitError, match="limit-model"):
            read()
