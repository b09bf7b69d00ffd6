"""Made-up corpora and pipelines, and drivers in separate processes."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from onym.batch.ledger import receipts_of
from onym.batch.plan import SHARDS, read_plan
from onym.batch.planning import plan_batch
from onym.pipeline.folder import build_pipeline
from onym.store.storage import open_storage
from tests.robustness.own_network import own_network
from tests.robustness.text.pipeline_hostile_text import NAMES, make_kb

Process = tuple[int, int]
"""An id, and the moment of its start: ids are used again."""
PACKED = "packed.pubtator.gz"
DRIVER = """
import sys
from onym.batch.engines import LocalEngine
from onym.batch.run import run_batch
worker = ["-c", sys.argv[2]] if sys.argv[2] else ["-m", "onym.batch.worker"]
run_batch(sys.argv[1], engine=LocalEngine(2, [sys.executable, *worker]))
"""


def make_pipeline(folder: Path) -> Path:
    """Build a pipeline with a few names."""
    build_pipeline(make_kb(folder), folder / "pipeline")
    return folder / "pipeline"


def make_corpus(folder: Path, files: int, seed: int = 13) -> Path:
    """Write small files whose lines become one shard each, and a compressed file that is split by documents."""
    rng = random.Random(seed)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number in range(files):
        texts = [" ".join(rng.choice(NAMES) for _ in range(rng.randrange(12))) for _ in range(3)]
        lines = (f'{{"id": "{number}-{at}", "text": "{text} and more."}}\n' for at, text in enumerate(texts))
        (corpus / f"{number:05}.jsonl").write_text("".join(lines))
    texts = [" ".join(rng.choice(NAMES) for _ in range(rng.randrange(12))) for _ in range(6)]
    lines = (f"{at}|t|{text} and more.\n{at}|a|\n\n" for at, text in enumerate(texts))
    (corpus / PACKED).write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    return corpus


def plan_run(corpus: Path, pipeline: Path | str, out: Path) -> Path:
    """Plan a run with one shard per line, and one shard per two documents of the compressed file."""
    plan_batch([corpus], pipeline, out, shard_bytes=1, shard_documents=2)
    return out


def driver(out: Path, worker: str = "", environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a run with two workers in a separate process."""
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(out), worker], env=os.environ | (environment or {}), stderr=subprocess.DEVNULL
    )


def children(pid: int) -> list[int]:
    """Return the living child processes of a process."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def identify(pids: Iterable[int]) -> set[Process]:
    """Return (pid, start time) of living processes, which identifies them even if a pid is reused."""
    found = ((pid, _read_start_time(pid)) for pid in pids)
    return {(pid, at) for pid, at in found if at is not None}


def still_alive(processes: Iterable[Process], seconds: float = 20.0) -> int:
    """Wait until all processes have ended or the time is up; return how many are still alive."""
    end = time.monotonic() + seconds
    left = set(processes)
    while (left := {each for each in left if _read_start_time(each[0]) == each[1]}) and time.monotonic() < end:
        time.sleep(0.02)
    return len(left)


def outputs(out: Path) -> dict[str, bytes]:
    """Return the bytes of all outputs by name, including hidden files."""
    folder = out / SHARDS
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def count_torn(out: Path) -> int:
    """Return the number of published outputs that are incomplete or have another key."""
    storage = open_storage(out)
    plan = read_plan(storage)
    return len(storage.names(SHARDS)) - len(receipts_of(plan.shards, storage))


def count_doubled(out: Path) -> int:
    """Return the number of documents that are in several files, plus the number of duplicate mentions."""
    files = sorted((out / SHARDS).glob("[!.]*.parquet"))
    rows = pl.concat([pl.read_parquet(path).with_columns(file=pl.lit(path.name)) for path in files])
    in_files = rows.select("source", "ordinal", "file").unique()
    twice = Counter(in_files.select("source", "ordinal").iter_rows())
    repeated = rows.filter(pl.col("row") == "mention").select("source", "ordinal", "start", "end").is_duplicated().sum()
    return sum(count > 1 for count in twice.values()) + int(repeated)


def _read_start_time(pid: int) -> int | None:
    """Return the start time of a process, or None if it is not alive."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


# Runs on real local Ray clusters, each in its own network namespace.

_DRIVER = """
import sys, time
from onym.batch.on_ray import RayEngine, link_shard
from onym.batch.run import run_batch
seconds = float(sys.argv[2])
def slow(*arguments):
    time.sleep(seconds)
    return link_shard(*arguments)
run_batch(sys.argv[1], engine=RayEngine(2, link=slow))
"""
_NODES = """
import random, sys, threading, time
import ray
from ray.cluster_utils import Cluster
from onym.batch.on_ray import RayEngine, link_shard
from onym.batch.run import run_batch
out, kills, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
rng, store = random.Random(kills), {"object_store_memory": 100_000_000}
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **store})
nodes = [cluster.add_node(num_cpus=1, **store) for _ in range(kills + 1)]
cluster.wait_for_nodes()
ray.init(cluster.address, log_to_driver=False)
killed, is_over = 0, threading.Event()
def kill():
    global killed
    while killed < kills and not is_over.wait(rng.uniform(0.2, 2.0)):
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        killed += 1
def slow(*arguments):
    time.sleep(seconds)
    return link_shard(*arguments)
killer = threading.Thread(target=kill)
killer.start()
run_batch(out, engine=RayEngine(link=slow))
is_over.set()
killer.join()
ray.shutdown()
cluster.shutdown()
print(killed)
"""
_MEASURED = """
import json, sys
import ray
from tests.robustness.batch.runs import tree_cpu_s
from onym.batch import on_ray as engine
from onym.batch.run import run_batch
with engine.cluster(engine.LOCAL, 2):
    start_s = tree_cpu_s()
    run_batch(sys.argv[1], engine="ray")
    print(json.dumps([start_s, tree_cpu_s() - start_s]))
"""
_TASK, _TICKS = "ray::", os.sysconf("SC_CLK_TCK")


def ray_driver(out: Path, seconds: float = 0.2) -> subprocess.Popen[bytes]:
    """Start a run on a new cluster with two CPUs; each shard takes at least `seconds`."""
    return subprocess.Popen(
        own_network(sys.executable, "-c", _DRIVER, str(out), str(seconds)), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )


def measure_on_ray(out: Path) -> tuple[float, float]:
    """Run on a cluster with two CPUs; return the CPU seconds of its start, and those of all its processes afterwards."""
    words = own_network(sys.executable, "-c", _MEASURED, str(out))
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    start_s, run_s = json.loads(done.stdout.splitlines()[-1])
    return start_s, run_s


def tree_cpu_s() -> float:
    """Return the CPU seconds of this process, its descendants, and the children that have ended."""
    return sum(_cpu_s(pid) for pid in [os.getpid(), *descendants(os.getpid())])


def kill_nodes(out: Path, kills: int, seconds: float = 0.3) -> tuple[int, set[Process]]:
    """Run on a cluster and remove nodes until one is left; return how many were removed in time, and all processes seen."""
    words = own_network(sys.executable, "-c", _NODES, str(out), str(kills), str(seconds))
    seen: set[Process] = set()
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        while process.poll() is None:
            seen |= identify(descendants(process.pid))
            time.sleep(0.1)
        printed = process.stdout.read() if process.stdout else ""
        if process.returncode:
            log.seek(0)
            sys.exit(f"a run on several Ray nodes failed: {log.read()[-2000:]}")
    return int(printed.split()[-1]), seen


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process."""
    found = children(pid)
    return [*found, *(each for child in found for each in descendants(child))]


def tasks(pid: int) -> list[int]:
    """Return the worker processes of a driver's cluster."""
    return [each for each in descendants(pid) if _title(each).startswith(_TASK) and "Agent" not in _title(each)]


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
