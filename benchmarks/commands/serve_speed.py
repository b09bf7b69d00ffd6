"""What `onym serve` costs beside its pipeline, and how fast it answers: one service, one linker process, this machine alone.

Real abstracts of BC5CDR's training split. The slow pipeline is the starter, which reranks; the fast one is the dictionary with
exact match, over the open knowledge base, or HPO with `--quick`. CPU is that of the processes of the service, by the kernel's
count; the client's is not in it. Each answer must be that of the pipeline, else the benchmark fails.

overhead           CPU of HTTP and linker process for a request of one client to the slow pipeline, against the bare pipeline,
                   which links the same texts one after the other
overhead_batched   the same with 8 clients, whose texts are linked together
http_cpu_ms        CPU milliseconds of the HTTP process for a request to the fast pipeline, at 8 clients
reject_cpu_ms      CPU milliseconds of the HTTP process for a refusal (429) of such a request
first_answer_s     seconds from the start of the command to its first answer, of the fast pipeline
slow, fast         for 1, 8 and 64 clients: answers in a second, median and 99th percentile of the milliseconds to an answer
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from benchmarks.report import data_folder
from benchmarks.results.tasks import hpo_kb, open_kb
from benchmarks.serve.client import Connection, Got, link_request, load, milliseconds
from benchmarks.serve.running import Running
from onym.corpora.base import documents_of
from onym.corpora.formats import get
from onym.pipeline.folder import build_pipeline
from onym.pipeline.folder import load as load_pipeline
from onym.pipeline.packs import STARTER
from onym.store.files.source import Source

FULL_BOUNDS = {"overhead": 1.3, "http_cpu_ms": 1.0, "reject_cpu_ms": 0.2}
_FULL, _QUICK = 400, 60
_SLOW_SHARE = 4  # of the requests to the fast pipeline, one in so many is made to the slow one
_CLIENTS = (1, 8, 64)
_REFUSALS = 2_000
_WARM_UP = 8
Speeds = dict[str, dict[str, float]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--requests", type=int, default=0, help="by default 400, or 60 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.requests or (_QUICK if options.quick else _FULL)
    texts = abstracts(count)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        kb = hpo_kb() if options.quick else open_kb()
        build_pipeline(kb.folder.parent, base / "fast")
        few = texts[: max(24, count // _SLOW_SHARE)]
        slow, slow_cpu_ms, _ = measured(STARTER, base, few)
        fast, _, figures = measured(str(base / "fast"), base, texts)
        bare_ms = bare_cpu_ms(STARTER, few)
        figures |= {"reject_cpu_ms": refusals(str(base / "fast"), base, texts)}
    return {
        "requests": len(texts),
        "bare_cpu_ms": round(bare_ms, 1),
        "overhead": round(slow_cpu_ms[1] / bare_ms, 3),
        "overhead_batched": round(slow_cpu_ms[8] / bare_ms, 3),
        **figures,
        "slow": slow,
        "fast": fast,
    }


def abstracts(count: int) -> list[str]:
    """Return titles and abstracts."""
    path = data_folder() / "bc5cdr" / "CDR_TrainingSet.PubTator.txt.gz"
    documents = documents_of(get("pubtator").read(Source.open(path)))
    return [doc.text for doc in islice(documents, count)]


def bare_cpu_ms(pipeline: str, texts: Sequence[str]) -> float:
    """Return the CPU milliseconds that a pipeline takes for a text, one after the other, in this process."""
    bare = load_pipeline(pipeline)
    for text in texts[:_WARM_UP]:
        bare.link(text)
    began = time.process_time()
    for text in texts:
        bare.link(text)
    return (time.process_time() - began) / len(texts) * 1000


def measured(pipeline: str, base: Path, texts: Sequence[str]) -> tuple[Speeds, dict[int, float], dict[str, object]]:
    """Return how fast a service answers, the CPU milliseconds of all its processes by clients, and more figures."""
    began = time.monotonic()
    service = Running(pipeline, base / "log.txt")
    requests = [link_request(text) for text in texts]
    try:
        service.wait_until_ready()
        asyncio.run(load(service.url, requests[:1], 1))
        first_s = time.monotonic() - began
        asyncio.run(load(service.url, requests[:_WARM_UP], 1))
        (linker,) = service.linker_pids()
        found: Speeds = {}
        http_ms: dict[int, float] = {}
        all_ms: dict[int, float] = {}
        for clients in _CLIENTS:
            http, linking = service.cpu_s(), service.cpu_s(linker)
            answers, seconds = asyncio.run(load(service.url, requests, clients))
            http_ms[clients] = (service.cpu_s() - http) / len(texts) * 1000
            all_ms[clients] = http_ms[clients] + (service.cpu_s(linker) - linking) / len(texts) * 1000
            require_right(answers, texts, pipeline if clients == _CLIENTS[0] else None)
            median_ms, p99_ms = milliseconds(answers)
            found[str(clients)] = {"ok_per_s": round(len(texts) / seconds, 1), "p50_ms": median_ms, "p99_ms": p99_ms}
    finally:
        service.stop()
    return found, all_ms, {"http_cpu_ms": round(http_ms[8], 3), "first_answer_s": round(first_s, 1)}


def require_right(answers: Sequence[Got], texts: Sequence[str], pipeline: str | None) -> None:
    """End the benchmark where an answer is not 200 and of its text, or not what the pipeline links, if it is named."""
    found = [json.loads(answer.body) if answer.status == 200 else {} for answer in answers]
    if [each.get("text") for each in found] != list(texts):
        sys.exit("an answer is missing, or of another text")
    if pipeline is not None and found[:8] != [load_pipeline(pipeline).link(text).to_dict() for text in texts[:8]]:
        sys.exit("an answer is not that of the pipeline")


def refusals(pipeline: str, base: Path, texts: Sequence[str]) -> float:
    """Return the CPU milliseconds of the HTTP process for a refusal, while one request that does not end is let in."""
    service = Running(pipeline, base / "log.txt", "--max-requests", "1", "--body-timeout", "300")
    requests = [link_request(text) for text in islice(cycle(texts), _REFUSALS)]

    async def act() -> float:
        holding, others = Connection(service.url), Connection(service.url)
        half = asyncio.create_task(holding.ask(requests[0][:-1], 300))
        await asyncio.sleep(0.5)
        if (await others.ask(requests[0])).status != 429:
            sys.exit("a request is let in beside another one")
        before = service.cpu_s()
        answers, _ = await load(service.url, requests, 8)
        spent = service.cpu_s() - before
        half.cancel()
        holding.close()
        others.close()
        if {(answer.status, answer.headers.get("retry-after", "") > "0") for answer in answers} != {(429, True)}:
            sys.exit("an answer is no refusal")
        return spent

    try:
        service.wait_until_ready()
        return round(asyncio.run(act()) / len(requests) * 1000, 3)
    finally:
        service.stop()
