"""Folders of models made to harm whoever opens them. Each is made in code, beside what must not be read; none is stored."""

from __future__ import annotations

from benchmarks.hostile_models import configs, onnx, tokenizers, weights
from benchmarks.hostile_models.case import Case

_CASES: tuple[Case, ...] = (*configs.CASES, *weights.CASES, *tokenizers.CASES)
CASES: tuple[Case, ...] = (*_CASES, *onnx.once_more(_CASES), *onnx.CASES, onnx.GRAPH)
