"""Review links with gold answers as the reviewer; kill the server of a desk; review a large desk with ten people.

The starter links the annotated mentions of the test splits of BC5CDR, NCBI disease and BioRED. In order of the queue, a
reviewer decides one link of a cluster by its gold answer, with one key press; the decision holds for all links of the cluster
("everywhere"). `removed_at_N` is the share of wrong links that are removed, net of links made wrong, after decisions on N % of
the links, for three orders: that of the desk, lowest confidence first, and random (mean of 20). All orders spread decisions
alike. `made_wrong_pct` is the share of links made wrong among the removed errors, at 10 %.

`decisions_lost`: a client decides, and the server is killed by SIGKILL at a random time and started again; a decision that was
acknowledged must be in the desk. `p99_ms`: ten clients, each deciding a link about once a second, on a desk of 100,000 links.
`--quick` reviews NCBI disease only, kills 3 times, and has 1,000 links. `--kills` and `--links` set these numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.report import data_folder
from benchmarks.serve.running import RunningDesk
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.corrections import surface_key
from onym.kb import KnowledgeBase
from onym.packs import load
from onym.packs.locate import locate_kb
from onym.review.create import ReviewedDocument, create_desk
from onym.review.desk import open_desk
from onym.review.queue import QueuedLink, gain_per_second
from onym.text.analysis import analysis_of
from onym.types import Candidate, Document, Link, Mention

CORPORA = {
    "ncbi-disease": "ncbi_disease/NCBItestset_corpus.txt",
    "bc5cdr": "bc5cdr/CDR_TestSet.PubTator.txt.gz",
    "biored": "pubtator/BioRED_Test.PubTator.gz",
}
UPPER_BOUNDS = {"decisions_lost": 0}
_SHARES = (0.05, 0.10, 0.20)
_RANDOM_ORDERS = 20
_REVIEWERS = 10


@dataclass(frozen=True)
class Judged:
    """A link with its gold answer."""

    queued: QueuedLink
    answer: str | None
    gold: str | None

    @property
    def is_right(self) -> bool:
        return self.answer == self.gold


def judge(path: Path) -> list[Judged]:
    """Link the annotated mentions of a corpus that have one concept of the knowledge base, and compare with gold."""
    pipeline = load("starter")
    kb, clusters, found = pipeline.kb, dict[Any, int](), list[Judged]()
    documents = documents_of(read_corpus(path))
    for number, linked in enumerate(pipeline.link_many(_with_known_mentions(documents, kb)), 1):
        known = analysis_of(linked.document).abbreviations
        for link, mention in zip(linked.links, linked.document.mentions, strict=True):
            key = surface_key(mention.surface), known.expand(mention.surface), link.concept_id
            cluster = clusters.setdefault(key, len(clusters))
            wrong = 0.5 if link.confidence is None else 1 - link.confidence
            (row,) = kb.resolve(mention.concept_ids[0])
            queued = QueuedLink(len(found), number, cluster, wrong)
            found.append(Judged(queued, link.concept_id, kb.concept_ids[row]))
    return found


def _with_known_mentions(documents: Iterator[Document], kb: KnowledgeBase) -> Iterator[Document]:
    for doc in documents:
        kept = [each for each in doc.mentions if len(each.concept_ids) == 1 and len(kb.resolve(each.concept_ids[0])) == 1]
        if kept:
            yield replace(doc, mentions=tuple(kept), relations=())


def review(links: Sequence[Judged], order: Sequence[int]) -> dict[str, Any]:
    """Decide clusters in an order; the link of each cluster that is asked is its least sure one. Return the shares."""
    by_cluster: dict[int, list[Judged]] = {}
    for link in links:
        by_cluster.setdefault(link.queued.cluster, []).append(link)
    wrong = sum(not link.is_right for link in links)
    limits = {share: int(share * len(links)) for share in _SHARES}
    removed = made = 0
    found: dict[str, Any] = {}
    for count, cluster in enumerate(order, 1):
        asked = max(by_cluster[cluster], key=lambda link: (link.queued.wrong, -link.queued.number))
        for link in by_cluster[cluster]:
            is_right = link.gold == asked.gold
            removed += is_right and not link.is_right
            made += link.is_right and not is_right
        for share, limit in limits.items():
            if count == limit or (count == len(order) and limit >= count):
                found[f"removed_at_{round(100 * share)}"] = round((removed - made) / wrong, 4)
                if share == 0.10:
                    found["made_wrong_pct"] = round(100 * made / max(1, removed), 2)
    return found


def orders_of(links: Sequence[Judged], generator: random.Random) -> dict[str, list[int]]:
    """Return the order of the desk, lowest confidence first, and that of links drawn at random."""
    by_cluster: dict[int, list[QueuedLink]] = {}
    for link in links:
        by_cluster.setdefault(link.queued.cluster, []).append(link.queued)
    drawn = generator.sample([link.queued.cluster for link in links], len(links))
    return {
        "desk": sorted(by_cluster, key=lambda cluster: (-gain_per_second(by_cluster[cluster]), cluster)),
        "confidence": sorted(by_cluster, key=lambda cluster: (-max(link.wrong for link in by_cluster[cluster]), cluster)),
        "random": list(dict.fromkeys(drawn)),
    }


def review_corpus(path: Path) -> dict[str, Any]:
    """Return the figures of the three orders on a corpus."""
    links, generator = judge(path), random.Random(0)
    runs = [orders_of(links, generator) for _ in range(_RANDOM_ORDERS)]
    found: dict[str, Any] = {name: review(links, runs[0][name]) for name in ("desk", "confidence")}
    by_chance = [review(links, each["random"]) for each in runs]
    found["random"] = {key: round(float(np.mean([each[key] for each in by_chance])), 4) for key in by_chance[0]}
    ratio = found["desk"]["removed_at_10"] / found["random"]["removed_at_10"] if found["random"]["removed_at_10"] else None
    wrong = sum(not link.is_right for link in links)
    clusters = len(runs[0]["desk"])
    own = {"links": len(links), "wrong": wrong, "clusters": clusters}
    return own | found | {"ratio_to_random_at_10": ratio and round(ratio, 2), "made_wrong_pct": found["desk"]["made_wrong_pct"]}


def make_desk(path: Path, kb: KnowledgeBase, links: int) -> None:
    """Write a desk with ten links per document."""
    ids = [kb.concept_ids[row] for row in range(min(1_000, len(kb)))]

    def documents() -> Iterator[ReviewedDocument]:
        for number in range(links // 10):
            words = [f"term{(10 * number + at) % 40_000:05d}" for at in range(10)]
            text, own, start = " ".join(words), list[Link](), 0
            for at, word in enumerate(words):
                candidates = tuple(Candidate(ids[(number + at + more) % len(ids)], word, 1.0 - more / 9) for more in range(3))
                own.append(Link(Mention(start, start + len(word), word), candidates, confidence=(number % 97) / 97))
                start += len(word) + 1
            yield ReviewedDocument(str(number), text, tuple(own))

    create_desk(path, documents(), kb, {})


def _body(link: int, **more: Any) -> dict[str, Any]:
    return {"id": uuid.uuid4().hex, "verdict": "unsure", "link": link, "scope": "here", "seconds": 1.0, **more}


def kill_often(kills: int, links: int = 1_000) -> dict[str, int]:
    """Kill the server again and again while a client decides, and count acknowledged decisions that the desk does not have."""
    generator = random.Random(0)
    acknowledged: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder, kb = Path(name), locate_kb(Path("starter"))
        make_desk(folder / "desk.sqlite", KnowledgeBase.open(kb), links)
        for number in range(kills):
            server = RunningDesk(folder / "desk.sqlite", kb, folder / "log.txt", patience_s=300)
            killer = threading.Timer(generator.uniform(0.05, 1.0), server.process.kill)
            killer.start()
            acknowledged += _decide_until_gone(server.url, number, links)
            killer.join()
            server.process.wait()
        with open_desk(folder / "desk.sqlite") as desk:
            stored = [each.id for each in desk.decisions()]
    lost, twice = len(set(acknowledged) - set(stored)), len(stored) - len(set(stored))
    return {"kills": kills, "acknowledged": len(acknowledged), "decisions_lost": lost, "decisions_twice": twice}


def _decide_until_gone(url: str, seed: int, links: int) -> list[str]:
    """Decide links until the server is gone, and return the ids of the decisions that it acknowledged."""
    generator, done = random.Random(seed), list[str]()
    try:
        with httpx.Client(base_url=url, timeout=60) as client:
            csrf = client.get("/v1/review/desk").json()["csrf"]
            while True:
                body = _body(generator.randint(1, links))
                answer = client.post("/v1/review/decisions", json=body, headers={"x-onym-csrf": csrf})
                if answer.status_code == 200:
                    done.append(body["id"])
    except httpx.HTTPError:
        return done


def measure_reviewers(links: int, seconds: float) -> dict[str, Any]:
    """Return the times of requests of ten reviewers who each decide about once a second."""
    with tempfile.TemporaryDirectory() as name:
        folder, kb = Path(name), locate_kb(Path("starter"))
        make_desk(folder / "desk.sqlite", KnowledgeBase.open(kb), links)
        server = RunningDesk(folder / "desk.sqlite", kb, folder / "log.txt", patience_s=600)
        try:
            times = asyncio.run(_review_together(server.url, seconds))
        finally:
            server.stop()
    return {"desk_links": links, "requests": len(times), "p99_ms": round(1000 * float(np.quantile(times, 0.99)), 1)}


async def _review_together(url: str, seconds: float) -> list[float]:
    times: list[float] = []
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        csrf = (await client.get("/v1/review/desk")).json()["csrf"]
        until = time.monotonic() + seconds
        await asyncio.gather(*(_review_alone(client, csrf, until, times, number) for number in range(_REVIEWERS)))
    return times


async def _review_alone(client: httpx.AsyncClient, csrf: str, until: float, times: list[float], number: int) -> None:
    generator = random.Random(number)

    async def measure(act: Callable[[], Any]) -> httpx.Response:
        began = time.monotonic()
        answer: httpx.Response = await act()
        times.append(time.monotonic() - began)
        answer.raise_for_status()
        return answer

    while time.monotonic() < until:
        shown = (await measure(partial(client.get, "/v1/review/next"))).json()["item"]
        await asyncio.sleep(generator.uniform(0.5, 1.5))
        scope = generator.choice(["here", "document", "everywhere"])
        body = _body(shown["link"], scope=scope)
        await measure(partial(client.post, "/v1/review/decisions", json=body, headers={"x-onym-csrf": csrf}))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=1_000, help="how often the server is killed")
    parser.add_argument("--links", type=int, default=100_000, help="links of the desk for ten reviewers")


def run(options: argparse.Namespace) -> dict[str, Any]:
    names = ["ncbi-disease"] if options.quick else list(CORPORA)
    found: dict[str, Any] = {name: review_corpus(data_folder() / CORPORA[name]) for name in names}
    found |= kill_often(3 if options.quick else options.kills)
    return found | measure_reviewers(1_000 if options.quick else options.links, 5 if options.quick else 60)
