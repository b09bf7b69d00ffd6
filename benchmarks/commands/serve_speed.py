"""Measure the overhead, latency and throughput of `onym serve` with one linker process.

Sends the abstracts of BC5CDR's training split. The slow pipeline is the starter, which reranks; the fast one is the dictionary
with exact match, over the open knowledge base (HPO with `--quick`). CPU times are those of the service's processes, without the
client. Fails if a response differs from the pipeline's own answer.

overhead           CPU per request of the HTTP and linker processes (one client, slow pipeline), relative to calling the
                   pipeline directly on the same texts, one by one
overhead_batched   the same with 8 clients, whose texts are linked in batches
http_cpu_ms        CPU milliseconds of the HTTP process per request to the fast pipeline, with 8 clients
reject_cpu_ms      CPU milliseconds of the HTTP process per rejected request (429)
first_answer_s     seconds from starting the command to its first response, with the fast pipeline
slow, fast         for 1, 8 and 64 clients: responses per second, median and 99th percentile latency in milliseconds, and CPU
                   milliseconds of all processes per request
ray_serve          the same with `--engine ray`: one replica on a local cluster in an isolated network; CPU includes the HTTP
                   process, the replica and all processes of the cluster; not measured with `--quick`
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from benchmarks.report import data_folder
from benchmarks.results.tasks import hpo_kb, open_kb
from benchmarks.serve.client import Connection, link_request, load
from benchmarks.serve.running import Running
from benchmarks.serve.speeds import WARM_UP, measure, measure_on_ray
from onym.corpora.base import documents_of
from onym.corpora.formats import get
from onym.packs.locate import STARTER
from onym.packs.locate import load as load_pipeline
from onym.pipeline.folder import build_pipeline
from onym.store.files.source import Source

FULL_BOUNDS = {"overhead": 1.3, "http_cpu_ms": 1.0, "reject_cpu_ms": 0.2}
_FULL, _QUICK = 400, 60
_SLOW_SHARE = 4  # the slow pipeline gets 1/n of the fast pipeline's requests
_REFUSALS = 2_000


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--requests", type=int, default=0, help="number of requests; by default 400, or 60 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.requests or (_QUICK if options.quick else _FULL)
    texts = abstracts(count)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        kb = hpo_kb() if options.quick else open_kb()
        build_pipeline(kb.folder.parent, base / "fast")
        few = texts[: max(24, count // _SLOW_SHARE)]
        slow, fast = measure(STARTER, base, few), measure(str(base / "fast"), base, texts)
        bare_ms = bare_cpu_ms(STARTER, few)
        reject_ms = refusals(str(base / "fast"), base, texts)
        ray_serve = {} if options.quick else on_ray(base, few, texts)
    return {
        "requests": len(texts),
        "bare_cpu_ms": round(bare_ms, 1),
        "overhead": round(slow.rows["1"]["cpu_ms"] / bare_ms, 3),
        "overhead_batched": round(slow.rows["8"]["cpu_ms"] / bare_ms, 3),
        "http_cpu_ms": round(fast.http_cpu_ms["8"], 3),
        "first_answer_s": fast.first_answer_s,
        "reject_cpu_ms": reject_ms,
        "slow": slow.rows,
        "fast": fast.rows,
        **ray_serve,
    }


def on_ray(base: Path, few: Sequence[str], texts: Sequence[str]) -> dict[str, object]:
    """Return the figures of Ray Serve."""
    slow, fast = measure_on_ray(STARTER, base, few), measure_on_ray(str(base / "fast"), base, texts)
    return {"ray_serve": {"first_answer_s": fast.first_answer_s, "slow": slow.rows, "fast": fast.rows}}


def abstracts(count: int) -> list[str]:
    """Return the texts: titles and abstracts."""
    path = data_folder() / "bc5cdr" / "CDR_TrainingSet.PubTator.txt.gz"
    documents = documents_of(get("pubtator").read(Source.open(path)))
    return [doc.text for doc in islice(documents, count)]


def bare_cpu_ms(pipeline: str, texts: Sequence[str]) -> float:
    """Return the CPU milliseconds per text of a pipeline in this process, one text at a time."""
    bare = load_pipeline(pipeline)
    for text in texts[:WARM_UP]:
        bare.link(text)
    began = time.process_time()
    for text in texts:
        bare.link(text)
    return (time.process_time() - began) / len(texts) * 1000


def refusals(pipeline: str, base: Path, texts: Sequence[str]) -> float:
    """Return the HTTP process's CPU milliseconds per rejected request; an unfinished request occupies the only slot."""
    service = Running(pipeline, base / "log.txt", "--max-requests", "1", "--body-timeout", "300")
    requests = [link_request(text) for text in islice(cycle(texts), _REFUSALS)]

    async def act() -> float:
        holding, others = Connection(service.url), Connection(service.url)
        half = asyncio.create_task(holding.ask(requests[0][:-1], 300))
        await asyncio.sleep(0.5)
        if (await others.ask(requests[0])).status != 429:
            sys.exit("a second request was accepted although --max-requests is 1")
        before = service.cpu_s()
        answers, _ = await load(service.url, requests, 8)
        spent = service.cpu_s() - before
        half.cancel()
        holding.close()
        others.close()
        if {(answer.status, answer.headers.get("retry-after", "") > "0") for answer in answers} != {(429, True)}:
            sys.exit("a response is not 429 with Retry-After")
        return spent

    try:
        service.wait_until_ready()
        return round(asyncio.run(act()) / len(requests) * 1000, 3)
    finally:
        service.stop()
