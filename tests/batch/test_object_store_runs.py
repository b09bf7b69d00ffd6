"""Runs in an object store write the same output as local runs, without credentials in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.batch.exporting import compact, export
from onym.batch.ledger import verify
from onym.batch.planning import plan_batch
from onym.batch.run import run_batch
from onym.errors import ConfigError, InputError
from onym.store.storage import open_storage
from tests.batch.runs import InlineEngine, bytes_of, corpus_at, pipeline_at
from tests.store.object_store_server import SECRET, object_store

pytestmark = pytest.mark.slow


def test_object_store_run_equals_local_run(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline, corpus = pipeline_at(tiny_kb, tmp_path), corpus_at(tmp_path)
    plan_batch([corpus], pipeline, tmp_path / "out", shard_bytes=300)
    run_batch(tmp_path / "out", engine=InlineEngine())
    with object_store(monkeypatch) as bucket:
        notes, out = open_storage(f"{bucket}/notes"), f"{bucket}/out"
        for path in corpus.iterdir():
            with notes.publish(path.name) as file:
                file.write(path.read_bytes())
        plan_batch([f"{bucket}/notes"], pipeline, out, shard_bytes=300)
        assert run_batch(out, workers=1).is_done
        assert _objects(out) == bytes_of(tmp_path / "out")
        assert verify(out) == []
        assert compact(out, tmp_path / "there.parquet") == compact(tmp_path / "out", tmp_path / "here.parquet")
        assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
        export(out, tmp_path / "there.pubtator", "pubtator")
        export(tmp_path / "out", tmp_path / "here.pubtator", "pubtator")
        assert (tmp_path / "there.pubtator").read_bytes() == (tmp_path / "here.pubtator").read_bytes()
        assert not any(SECRET.encode() in data for data in [*_objects(out).values(), _plan(out)])
        with pytest.raises(ConfigError) as differs:
            plan_batch([f"{bucket}/notes"], pipeline, out, shard_bytes=300, text=False)
        assert differs.value.code == "batch-plan-differs"
        _change(f"{bucket}/notes", out, corpus.joinpath("0.txt").read_bytes())


def _change(notes: str, out: str, before: bytes) -> None:
    """Change an input and link its shard again: the shard must be quarantined."""
    open_storage(out).remove("shards/000000.parquet")
    with open_storage(notes).publish("0.txt") as file:
        file.write(before.replace(b"fever", b"FEVER"))
    ledger = run_batch(out, engine=InlineEngine())
    assert [each.code for each in ledger.quarantined.values()] == ["batch-input-changed"]
    open_storage(notes).remove("0.txt")
    with pytest.raises(InputError):
        plan_batch([f"{notes}/0.txt"], "starter", f"{out}-of-nothing")


def _objects(out: str) -> dict[str, bytes]:
    storage = open_storage(out)
    found = {}
    for name in storage.names("shards"):
        with storage.open(f"shards/{name}") as file:
            found[name] = file.read()
    return found


def _plan(out: str) -> bytes:
    with open_storage(out).open("plan.json") as file:
        return file.read()
