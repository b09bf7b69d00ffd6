"""Tests that the reranker benchmark counts hostile tree models as rejected, and accepts a valid model."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed.rerank_speed import hostile_columns, hostile_models, is_refused


def test_rejects_hostile_models_and_accepts_a_valid_one(tmp_path: Path) -> None:
    count, refused = hostile_models(tmp_path / "hostile")
    assert count == refused == len(list(hostile_columns())) >= 30
    assert not is_refused({}, tmp_path / "sound")
