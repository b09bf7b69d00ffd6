"""Made-up corpora and pipelines, and a driver in a process of its own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from benchmarks.commands.pipeline_hostile_text import NAMES, made_kb
from onym.batch.ledger import receipts_of
from onym.batch.plan import SHARDS, read_plan
from onym.batch.planning import plan_batch
from onym.pipeline.folder import build_pipeline
from onym.store.storage import open_storage

Process = tuple[int, int]
"""An id, and the moment of its start: ids are used again."""
DRIVER = """
import sys
from onym.batch.engines import LocalEngine
from onym.batch.run import run_batch
worker = ["-c", sys.argv[2]] if sys.argv[2] else ["-m", "onym.batch.worker"]
run_batch(sys.argv[1], engine=LocalEngine(2, [sys.executable, *worker]))
"""


def made_pipeline(folder: Path) -> Path:
    """Build a pipeline over a few names."""
    build_pipeline(made_kb(folder), folder / "pipeline")
    return folder / "pipeline"


def made_corpus(folder: Path, files: int, seed: int = 13) -> Path:
    """Write small files of several documents, a shard each."""
    rng = random.Random(seed)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number in range(files):
        texts = [" ".join(rng.choice(NAMES) for _ in range(rng.randrange(12))) for _ in range(3)]
        lines = (f'{{"id": "{number}-{at}", "text": "{text} and more."}}\n' for at, text in enumerate(texts))
        (corpus / f"{number:05}.jsonl").write_text("".join(lines))
    return corpus


def planned(corpus: Path, pipeline: Path | str, out: Path) -> Path:
    """Plan a run with a shard for each file."""
    plan_batch([corpus], pipeline, out, shard_bytes=1)
    return out


def driver(out: Path, worker: str = "", environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a run with two workers, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(out), worker], env=os.environ | (environment or {}), stderr=subprocess.DEVNULL
    )


def children(pid: int) -> list[int]:
    """Return the processes that a process started and that are alive."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def known(pids: Iterable[int]) -> set[Process]:
    """Return processes that are alive as what they can be known by later."""
    found = ((pid, _started(pid)) for pid in pids)
    return {(pid, at) for pid, at in found if at is not None}


def still_alive(processes: Iterable[Process], seconds: float = 20.0) -> int:
    """Return how many of some processes are alive after a while; most are gone at once."""
    end = time.monotonic() + seconds
    left = set(processes)
    while (left := {each for each in left if _started(each[0]) == each[1]}) and time.monotonic() < end:
        time.sleep(0.02)
    return len(left)


def outputs(out: Path) -> dict[str, bytes]:
    """Return the bytes of all outputs by name, hidden ones too."""
    folder = out / SHARDS
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def torn(out: Path) -> int:
    """Return how many outputs have a name and are not whole, or of another key."""
    storage = open_storage(out)
    plan = read_plan(storage)
    return len(storage.names(SHARDS)) - len(receipts_of(plan.shards, storage))


def doubled(out: Path) -> int:
    """Return how many documents stand in two files, or have a mention twice."""
    files = sorted((out / SHARDS).glob("[!.]*.parquet"))
    rows = pl.concat([pl.read_parquet(path).with_columns(file=pl.lit(path.name)) for path in files])
    in_files = rows.select("source", "ordinal", "file").unique()
    twice = Counter(in_files.select("source", "ordinal").iter_rows())
    repeated = rows.filter(pl.col("row") == "mention").select("source", "ordinal", "start", "end").is_duplicated().sum()
    return sum(count > 1 for count in twice.values()) + int(repeated)


def _started(pid: int) -> int | None:
    """Return when a process that is alive was started; None of one that is not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])
