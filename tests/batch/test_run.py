"""Runs of a plan, including runs that are interrupted and resumed."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from onym.batch.engines import Advance
from onym.batch.exporting import compact, export
from onym.batch.ledger import status, verify
from onym.batch.plan import read_plan
from onym.batch.planning import plan_batch
from onym.batch.run import run_batch
from onym.errors import ConfigError
from onym.pipeline import PipelineOptions
from onym.pipeline.folder import build_pipeline
from onym.store.storage import open_storage
from tests.batch.runs import TEXTS, InlineEngine, bytes_of, finish_run, pipeline_at, plan_run, pubmed_at


def test_links_each_document_once(tiny_kb: Path, tmp_path: Path) -> None:
    ledger = finish_run(tiny_kb, tmp_path)
    counts = ledger.counts()
    assert ledger.is_done
    assert (counts["documents"], counts["quarantined"], counts["problems"]) == (25, 0, {})
    rows = pl.read_parquet(tmp_path / "out" / "shards" / "*.parquet")
    assert counts["rows"] == rows.height
    keys = rows.select("source", "ordinal").unique()
    assert keys.height == 25
    assert sorted(keys.filter(pl.col("source") == "many.jsonl")["ordinal"]) == list(range(1, 21))
    found = rows.filter((pl.col("source") == "0.txt") & (pl.col("row") == "mention")).sort("start")
    assert list(zip(found["text"], found["concept_id"], strict=True)) == [
        ("fever", "mesh:D005334"),
        ("heart attack", "mesh:D009203"),
    ]
    assert rows.filter(pl.col("row") == "none").height == sum("Nothing" in text for text in TEXTS) * 5


def test_resumes_and_writes_the_same_bytes(tiny_kb: Path, tmp_path: Path) -> None:
    finish_run(tiny_kb, tmp_path)
    out = tmp_path / "out"
    before = bytes_of(out)
    (out / "shards" / "000001.parquet").unlink()
    torn = out / "shards" / "000002.parquet"
    torn.write_bytes(torn.read_bytes()[:-100])
    # The output of shard 3 is replaced by that of shard 0, so its key is wrong.
    (out / "shards" / "000003.parquet").write_bytes((out / "shards" / "000000.parquet").read_bytes())
    left = out / "shards" / ".000001.parquet.0123456789abcdef.onym-new"
    left.touch()
    assert len(status(out).open_shards) == 3
    assert run_batch(out, engine=InlineEngine()).is_done
    assert bytes_of(out) == before
    assert not left.exists()


def test_removes_temp_files_of_killed_run(tiny_kb: Path, tmp_path: Path) -> None:
    finish_run(tiny_kb, tmp_path)
    left = tmp_path / "out" / "shards" / ".000001.parquet.0123456789abcdef.onym-new"
    left.touch()
    assert run_batch(tmp_path / "out", engine=InlineEngine()).is_done
    assert not left.exists()


def test_parts_are_disjoint_and_complete(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    out = tmp_path / "out"
    first = run_batch(out, engine=InlineEngine(), part="1/2")
    assert set(first.receipts) == {shard.number for shard in plan.shards if shard.number % 2 == 0}
    assert run_batch(out, engine=InlineEngine(), part="2/2").is_done


@pytest.mark.parametrize("part", ["0/2", "3/2", "a/b", "1/0", "1"])
def test_rejects_invalid_part(tiny_kb: Path, tmp_path: Path, part: str) -> None:
    plan_run(tiny_kb, tmp_path)
    with pytest.raises(ConfigError):
        run_batch(tmp_path / "out", engine=InlineEngine(), part=part)


def test_changed_input_is_quarantined_and_others_finish(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    changed = tmp_path / "notes" / "3.txt"
    before = changed.read_text()
    changed.write_text("Another text.")
    ledger = run_batch(tmp_path / "out", engine=InlineEngine())
    assert {number: each.code for number, each in ledger.quarantined.items()} == {0: "batch-input-changed"}
    assert len(ledger.receipts) == len(ledger.plan.shards) - 1
    changed.write_text(before)
    ledger = run_batch(tmp_path / "out", engine=InlineEngine())
    assert ledger.is_done
    assert ledger.quarantined == {}


def test_rejects_changed_pipeline(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    build_pipeline(tiny_kb, tmp_path / "pipeline", options=PipelineOptions(threshold=0.5), force=True)
    with pytest.raises(ConfigError) as caught:
        run_batch(tmp_path / "out", engine=InlineEngine())
    assert caught.value.code == "batch-pipeline-changed"
    assert "threshold" in caught.value.what


def test_pipeline_may_be_moved(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    (tmp_path / "pipeline").rename(tmp_path / "moved")
    assert run_batch(tmp_path / "out", engine=InlineEngine(), pipeline=tmp_path / "moved").is_done


def test_private_run_without_text(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path, private=True, text=False)
    run_batch(tmp_path / "out", engine=InlineEngine())
    out = tmp_path / "out"
    assert {path.stat().st_mode & 0o777 for path in (out, *out.rglob("*")) if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in out.rglob("*") if path.is_file()} == {0o600}
    assert "text" not in pl.read_parquet(out / "shards" / "000000.parquet").columns


def test_rejects_unknown_engine(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    with pytest.raises(ConfigError):
        run_batch(tmp_path / "out", engine="spark")


def test_split_file_has_same_rows_as_whole_file(tiny_kb: Path, tmp_path: Path) -> None:
    path, pipeline = pubmed_at(tmp_path, 23, malformed=(5, 11), deleted=("1",)), pipeline_at(tiny_kb, tmp_path)
    tables, sums = [], []
    for name, documents in (("whole", 100), ("divided", 4)):
        plan_batch([path], pipeline, tmp_path / name, shard_bytes=8, shard_documents=documents)
        ledger = run_batch(tmp_path / name, engine=InlineEngine())
        assert verify(tmp_path / name) == []
        tables.append(pl.read_parquet(tmp_path / name / "shards" / "*.parquet").sort("ordinal", "row", "start"))
        sums.append({key: value for key, value in ledger.counts().items() if key not in ("shards", "done")})
        export(tmp_path / name, tmp_path / f"{name}.pubtator", "pubtator")
        compact(tmp_path / name, tmp_path / f"{name}.parquet")
    assert len(read_plan(open_storage(tmp_path / "divided")).shards) == 6
    assert tables[0].equals(tables[1])
    assert sums[0] == sums[1]
    for end in ("pubtator", "parquet"):
        assert (tmp_path / f"whole.{end}").read_bytes() == (tmp_path / f"divided.{end}").read_bytes()


def test_runs_plan_without_document_range_fields(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    path = tmp_path / "out" / "plan.json"
    values = json.loads(path.read_text())
    for part in (part for shard in values["shards"] for group in shard["groups"] for part in group["files"]):
        for name in ("first", "documents", "to_end"):
            del part[name]
    path.write_text(json.dumps(values))
    assert run_batch(tmp_path / "out", engine=InlineEngine()).is_done
    assert verify(tmp_path / "out") == []


def test_progress_counts_documents(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    seen: list[Advance] = []
    run_batch(tmp_path / "out", engine=InlineEngine(), progress=seen.append)
    assert seen[-1] == Advance(25, 1.0, len(plan.shards), len(plan.shards))
    assert [each.share for each in seen] == sorted(each.share for each in seen)
    assert 0 < seen[0].share < 1
