"""Tests of `onym batch`, from the plan to the export."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from tests.batch.runs import corpus_at, pipeline_at
from tests.cli.command import onym


def test_from_plan_to_export(tiny_kb: Path, tmp_path: Path) -> None:
    corpus_at(tmp_path)
    pipeline_at(tiny_kb, tmp_path)
    planned = json.loads(onym("batch", "plan", "notes", "--pipeline", "pipeline", "-o", "out", "--json", cwd=tmp_path).stdout)
    assert (planned["shards"], planned["files"]) == (1, 6)
    assert "[....." in onym("batch", "status", "out", cwd=tmp_path, status=5).stdout
    assert "not linked yet" in onym("batch", "verify", "out", cwd=tmp_path, status=4).stderr
    assert "[batch-not-done]" in onym("batch", "export", "out", "-o", "a.csv", cwd=tmp_path, status=3).stderr
    done = onym("batch", "run", "out", "--workers", "1", cwd=tmp_path).stdout
    assert "1 of 1" in done
    assert "documents\t25" in done
    assert json.loads(onym("batch", "status", "out", "--json", cwd=tmp_path).stdout)["documents"] == 25
    assert "[#####" in onym("batch", "status", "out", "--live", cwd=tmp_path).stdout
    assert onym("batch", "verify", "out", cwd=tmp_path).stdout.split() == ["faults", "0"]
    onym("batch", "export", "out", "-o", "links.parquet", cwd=tmp_path)
    compacted = json.loads(onym("batch", "compact", "out", "-o", "current.parquet", "--json", cwd=tmp_path).stdout)
    assert compacted["documents"] == 25
    mentions = pl.read_parquet(tmp_path / "current.parquet").filter(pl.col("row") == "mention")
    assert mentions.height == pl.read_parquet(tmp_path / "links.parquet").height > 25
    assert "[batch-plan-differs]" in onym("batch", "plan", "notes/1.txt", "-o", "out", cwd=tmp_path, status=2).stderr


def test_exit_status_reports_skipped_documents(tiny_kb: Path, tmp_path: Path) -> None:
    corpus_at(tmp_path)
    pipeline_at(tiny_kb, tmp_path)
    (tmp_path / "notes" / "9.bin").write_bytes(b"\x00\x01")
    (tmp_path / "notes" / "8.txt").write_bytes(b"\x81\xff")
    assert "9.bin" in onym("batch", "plan", "notes", "--pipeline", "pipeline", "-o", "out", cwd=tmp_path, status=5).stderr
    done = onym("batch", "run", "out", "--workers", "1", cwd=tmp_path, status=5)
    assert "problem input-encoding\t1" in done.stdout
    assert "9.bin could not be read" in done.stderr
