"""A small corpus, a pipeline over the tiny knowledge base, and an engine that starts no process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onym.batch.engines import ShardQueue
from onym.batch.ledger import Ledger
from onym.batch.plan import BatchPlan
from onym.batch.planning import plan_batch
from onym.batch.run import run_batch
from onym.batch.shard import ShardRunner
from onym.pipeline.folder import build_pipeline

TEXTS = ("High fever, no heart attack.", "Nothing here.", "A cough and fever.", "Fever (F) again: F.", "heart attack")


class InlineEngine:
    """Links shards one after the other in this process."""

    def run(self, queue: ShardQueue) -> None:
        runner = ShardRunner(queue.storage.url, queue.pipeline)
        while queue.waiting:
            shard = queue.waiting.popleft()
            queue.replied(shard, runner.run(shard.number))


def pipeline_at(kb: Path, folder: Path) -> Path:
    build_pipeline(kb, folder / "pipeline")
    return folder / "pipeline"


def corpus_at(folder: Path) -> Path:
    """Write a folder of small files and one larger file of lines."""
    notes = folder / "notes"
    notes.mkdir()
    for number, text in enumerate(TEXTS):
        (notes / f"{number}.txt").write_text(text)
    lines = [json.dumps({"id": f"j{number}", "text": text}) for number, text in enumerate(TEXTS * 4)]
    (notes / "many.jsonl").write_text("\n".join(lines) + "\n")
    return notes


def planned(kb: Path, folder: Path, *, shard_bytes: int = 300, **settings: Any) -> BatchPlan:
    return plan_batch([corpus_at(folder)], pipeline_at(kb, folder), folder / "out", shard_bytes=shard_bytes, **settings)


def finished(kb: Path, folder: Path) -> Ledger:
    planned(kb, folder)
    return run_batch(folder / "out", engine=InlineEngine())


def bytes_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "shards").iterdir()}
