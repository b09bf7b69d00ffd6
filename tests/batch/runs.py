"""Helpers: a small corpus, a pipeline over the tiny knowledge base, and an in-process engine."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onym.batch.engines import ShardQueue
from onym.batch.ledger import Ledger
from onym.batch.plan import BatchPlan
from onym.batch.planning import plan_batch
from onym.batch.rows import RECEIPT, flat_columns, update_digest
from onym.batch.run import run_batch
from onym.batch.shard import ShardRunner
from onym.pipeline.folder import build_pipeline
from onym.types import style_id

TEXTS = ("High fever, no heart attack.", "Nothing here.", "A cough and fever.", "Fever (F) again: F.", "heart attack")


class InlineEngine:
    """Links shards one after another in this process."""

    def run(self, queue: ShardQueue) -> None:
        runner = ShardRunner(queue.storage.url, queue.pipeline)
        while queue.waiting:
            shard = queue.waiting.popleft()
            queue.note_reply(shard, runner.run(shard.number))


def pipeline_at(kb: Path, folder: Path) -> Path:
    build_pipeline(kb, folder / "pipeline")
    return folder / "pipeline"


def corpus_at(folder: Path) -> Path:
    """Write a folder with small text files and a larger JSONL file."""
    notes = folder / "notes"
    notes.mkdir()
    for number, text in enumerate(TEXTS):
        (notes / f"{number}.txt").write_text(text)
    lines = [json.dumps({"id": f"j{number}", "text": text}) for number, text in enumerate(TEXTS * 4)]
    (notes / "many.jsonl").write_text("\n".join(lines) + "\n")
    return notes


def pubmed_at(
    folder: Path, count: int, *, malformed: Sequence[int] = (), deleted: Sequence[str] = (), name: str = "a.xml.gz"
) -> Path:
    """Write a gzipped PubMed file, with some malformed citations (no PMID) and some deletions."""
    articles = "".join(
        f"<PubmedArticle><MedlineCitation>{'' if number in malformed else f'<PMID>{number}</PMID>'}"
        f"<Article><ArticleTitle>{TEXTS[number % len(TEXTS)]}</ArticleTitle></Article></MedlineCitation></PubmedArticle>\n"
        for number in range(1, count + 1)
    )
    ids = "".join(f"<PMID>{pmid}</PMID>" for pmid in deleted)
    end = f"<DeleteCitation>{ids}</DeleteCitation>" if deleted else ""
    data = f'<?xml version="1.0"?>\n<PubmedArticleSet>\n{articles}{end}</PubmedArticleSet>\n'.encode()
    (folder / name).write_bytes(gzip.compress(data, mtime=0))
    return folder / name


def plan_run(kb: Path, folder: Path, *, shard_bytes: int = 300, **settings: Any) -> BatchPlan:
    return plan_batch([corpus_at(folder)], pipeline_at(kb, folder), folder / "out", shard_bytes=shard_bytes, **settings)


def finish_run(kb: Path, folder: Path) -> Ledger:
    plan_run(kb, folder)
    return run_batch(folder / "out", engine=InlineEngine())


def rewrite_as_version_1(path: Path) -> None:
    """Rewrite the output of a shard with schema version 1: no candidates, and ids such as MESH:D005334."""
    receipt = json.loads(pq.read_metadata(path).metadata[RECEIPT])
    table = pq.read_table(path)
    shown = pa.array([each and style_id(each) for each in table["concept_id"].to_pylist()], pa.string())
    table = table.set_column(table.schema.get_field_index("concept_id"), "concept_id", shown)
    table = table.select([name for name in flat_columns() if name in table.column_names])
    digest = hashlib.sha256()
    update_digest(digest, table)
    old = receipt | {"format": 1, "digest": digest.hexdigest()}
    pq.write_table(table.replace_schema_metadata({RECEIPT: json.dumps(old).encode()}), path, compression="zstd")


def bytes_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "shards").iterdir()}
