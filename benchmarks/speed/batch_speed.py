"""Measure the overhead of `onym batch` over `onym link`, its scaling to two workers, and the cost of resuming a finished plan.

Links abstracts of a recent PubMed file with the dictionary detector and exact match over the open knowledge base. `--quick`
uses few abstracts and HPO.

overhead_local            CPU time of `onym batch run` with one worker, divided by that of `onym link` on the same file
scaling                   wall time of one worker divided by that of two, on shards of the same size; needs an idle machine
overhead_ray              CPU time of all processes of a Ray cluster, divided by that of two local workers on the same two
                          large shards
ray_start_cpu_s           CPU seconds to start the cluster, not included in overhead_ray
memory_ratio              proportional memory (PSS) of four processes with the pipeline open, divided by that of one process
memory_ratio_dense        the same with a dense linker over HPO
resume_s_per_1000_shards  CPU seconds to check that a plan is finished, per 1,000 shards
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from tests.robustness.batch.runs import make_pipeline, measure_on_ray, outputs

from benchmarks.batch import cut, measure_run, real_files
from benchmarks.models import model_folder
from benchmarks.results.tasks import hpo_kb, open_kb
from onym.batch.ledger import status
from onym.batch.plan import read_plan
from onym.batch.planning import plan_batch
from onym.batch.run import run_batch
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.methods.dense.linker import DenseLinkerConfig as DenseConfig
from onym.pipeline.folder import build_pipeline
from onym.store.storage import open_storage

FULL_BOUNDS = {"overhead_local": 1.05, "overhead_ray": 1.10, "memory_ratio": 2.5, "resume_s_per_1000_shards": 1.0}
_CITATIONS, _QUICK = 8_000, 300
_STUBS, _QUICK_STUBS = 10_000, 200
_TEXTS = 300  # abstracts linked before memory is measured
_OPEN = """
import sys, time
from onym.pipeline.folder import load
pipeline = load(sys.argv[1])
texts = open(sys.argv[2]).read().splitlines()
for linked in pipeline.link_many(texts):
    pass
print("ready", flush=True)
sys.stdin.read()
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--citations", type=int, default=0, help="number of abstracts; by default 8,000, or 300 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.citations or (_QUICK if options.quick else _CITATIONS)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        kb = hpo_kb() if options.quick else open_kb()
        build_pipeline(kb.folder.parent, base / "pipeline")
        file = cut(real_files()[1], base, count)
        figures: dict[str, object] = {"citations": count, **_overhead(base, file)}
        figures |= _scaling(base, file)
        texts = _texts(base, file)
        figures |= _memory(base / "pipeline", texts)
        if not options.quick:
            figures |= _on_ray(base, real_files()[1])
            figures |= _dense_memory(base, texts)
        figures |= _resume(base, _QUICK_STUBS if options.quick else _STUBS)
    return figures


def _overhead(base: Path, file: Path) -> dict[str, object]:
    """Compare the CPU time of one worker with that of `onym link`; the minimum of two rounds each."""
    alone, batch = [], []
    for turn in range(2):
        words = [
            "link",
            str(file),
            "--pipeline",
            str(base / "pipeline"),
            "--format",
            "table",
            "-o",
            str(base / f"{turn}.parquet"),
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-m", "onym", *words], stdout=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 5):
            sys.exit("onym link failed")
        alone.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        plan_batch([file], base / "pipeline", base / f"one{turn}")
        batch.append(measure_run(base / f"one{turn}", 1)[1].cpu_s)
    return {"link_cpu_s": round(min(alone), 1), "overhead_local": round(min(batch) / min(alone), 3)}


def _scaling(base: Path, file: Path) -> dict[str, object]:
    """Compare the wall time of one worker with that of two, on four copies of the file."""
    (base / "copies").mkdir()
    for number in range(4):
        shutil.copy(file, base / "copies" / f"{number}.xml")
    seconds = []
    for workers in (1, 2):
        plan_batch([base / "copies"], base / "pipeline", base / f"scaled{workers}", shard_bytes=1)
        seconds.append(measure_run(base / f"scaled{workers}", workers)[1].wall_s)
    return {"wall_s_one": round(seconds[0], 1), "scaling": round(seconds[0] / seconds[1], 2)}


def _on_ray(base: Path, file: Path) -> dict[str, object]:
    """Compare the CPU time of a Ray cluster with that of two local workers, one shard per worker."""
    (base / "pair").mkdir()
    for number in range(2):
        shutil.copy(file, base / "pair" / f"{number}.xml.gz")
    for name in ("local", "ray"):
        plan_batch([base / "pair"], base / "pipeline", base / f"by-{name}", shard_bytes=1)
    local_s = measure_run(base / "by-local", 2)[1].cpu_s
    start_s, ray_s = measure_on_ray(base / "by-ray")
    if outputs(base / "by-ray") != outputs(base / "by-local"):
        sys.exit("a Ray cluster wrote other bytes")
    return {
        "shard_cpu_s": round(local_s / 2, 1),
        "overhead_ray": round(ray_s / local_s, 3),
        "ray_start_cpu_s": round(start_s, 1),
    }


def _dense_memory(base: Path, texts: Path) -> dict[str, object]:
    linker = DenseConfig.from_options({"model": str(model_folder("minilm"))})
    build_pipeline(hpo_kb().folder.parent, base / "dense", linker=linker)
    found = _memory(base / "dense", texts)
    return {f"{name}_dense": value for name, value in found.items()}


def _texts(base: Path, file: Path) -> Path:
    """Write some of the abstracts, one per line."""
    docs = islice(documents_of(read_corpus(file)), _TEXTS)
    (base / "texts.txt").write_text("".join(" ".join(doc.text.split()) + "\n" for doc in docs))
    return base / "texts.txt"


def _memory(pipeline: Path, texts: Path) -> dict[str, object]:
    """Return the PSS of four processes that linked the same texts, divided by that of one."""
    words = [sys.executable, "-c", _OPEN, str(pipeline), str(texts)]
    found = []
    for count in (1, 4):
        processes = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
        for process in processes:
            assert process.stdout
            process.stdout.readline()
        found.append(sum(_pss(process.pid) for process in processes))
        for process in processes:
            process.communicate()
    return {"memory_gb_one": round(found[0] / 1e9, 2), "memory_ratio": round(found[1] / found[0], 2)}


def _pss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _resume(base: Path, shards: int) -> dict[str, object]:
    """Time a run over a finished plan. Its outputs are copies of one real output, each with its own key."""
    import pyarrow.parquet as pq

    from onym.batch.rows import RECEIPT, read_receipt

    (base / "stubs").mkdir()
    for number in range(shards):
        (base / "stubs" / f"{number:06}.txt").write_text(f"fever {number}")
    made = base / "made"
    made.mkdir()
    plan_batch([base / "stubs"], make_pipeline(made), base / "many", shard_bytes=1)
    storage = open_storage(base / "many")
    plan = read_plan(storage)
    run_batch(base / "many", workers=1, part=f"1/{shards}")
    first = read_receipt(storage, plan.shards[0].name)
    assert first
    table = pq.read_table(base / "many" / plan.shards[0].name)
    for shard in plan.shards[1:]:
        own = first.model_copy(update={"key": shard.key, "shard": shard.number})
        pq.write_table(table.replace_schema_metadata({RECEIPT: own.model_dump_json()}), base / "many" / shard.name)
    began = time.process_time()
    ledger = status(base / "many")
    seconds = time.process_time() - began
    if not ledger.is_done:
        sys.exit("a finished plan is not seen as finished")
    return {"shards": shards, "resume_s_per_1000_shards": round(seconds / shards * 1000, 2)}
