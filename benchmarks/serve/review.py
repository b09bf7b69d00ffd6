"""Review links with gold answers as the reviewer; use the page; kill the server of a desk; review a large desk with ten people.

The starter links the annotated mentions of the test splits of BC5CDR, NCBI disease and BioRED, and the links go to a desk. A
reviewer decides one link of a cluster by its gold answer, with one key press; the decision holds for all links of the cluster
("everywhere"). `removed_at_N` is the share of wrong links that are removed, net of links made wrong, after decisions on N % of
the links, for these orders, all of which spread decisions alike:

desk               that of the desk's queue, which learns from the decisions
confidence         lowest confidence first
random             links drawn at random, without those already decided (mean of 20)
random_clusters    clusters drawn at random, so that large ones do not come earlier (mean of 20)
ceiling            clusters with most wrong links first, which only somebody who knows the answers can do

`made_wrong_pct` is the share of links made wrong among the removed errors, at 10 %. `ceiling_ratio_at_10` is the
highest ratio to `random` that any order can have.

`keyboard_only`: 50 links are decided on the page by keys alone. `a11y_violations`: axe-core rules that a state of the page
violates, in light and dark mode, in a wide and a narrow window. Both need Chromium and playwright, and are null without.

`decisions_lost`: a client decides, and the server is killed by SIGKILL at a random time after its first decision, and started
again; a decision that was acknowledged must be in the desk. `p99_ms`: ten clients, each deciding a link about once a second, on
a desk of 100,000 links.
`--quick` reviews NCBI disease only, kills 3 times, and has 1,000 links. `--kills` and `--links` set these numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.report import data_folder
from benchmarks.serve.review_page import use_page
from benchmarks.serve.running import RunningDesk
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.packs import load
from onym.packs.locate import locate_kb
from onym.review.create import ReviewedDocument, create_desk
from onym.review.decisions import Decision, Verdict
from onym.review.desk import DeskLink, open_desk
from onym.review.queue import QueuedLink, ReviewQueue
from onym.serve.review import ReviewSettings, run_review
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
    """A link of a desk with its gold answer."""

    link: DeskLink
    gold: str

    @property
    def is_right(self) -> bool:
        return self.link.concept_id == self.gold


def judge(path: Path, desk: Path) -> list[Judged]:
    """Link the annotated mentions of a corpus that have one concept of the knowledge base, and make a desk of the links."""
    pipeline, golds = load("starter"), list[str]()
    kb = pipeline.kb

    def documents() -> Iterator[ReviewedDocument]:
        for linked in pipeline.link_many(_with_known_mentions(documents_of(read_corpus(path)), kb)):
            golds.extend(kb.concept_ids[kb.resolve(each.concept_ids[0])[0]] for each in linked.document.mentions)
            yield ReviewedDocument.of(linked)

    create_desk(desk, documents(), kb, {})
    with open_desk(desk) as opened:
        return [Judged(link, gold) for link, gold in zip(opened.links(), golds, strict=True)]


def _with_known_mentions(documents: Iterator[Document], kb: KnowledgeBase) -> Iterator[Document]:
    for doc in documents:
        kept = [each for each in doc.mentions if len(each.concept_ids) == 1 and len(kb.resolve(each.concept_ids[0])) == 1]
        if kept:
            yield replace(doc, mentions=tuple(kept), relations=())


class Session:
    """The links of a desk by cluster, and what a decision on each cluster does."""

    def __init__(self, links: Sequence[Judged]) -> None:
        self.links = links
        self.by_cluster: dict[int, list[Judged]] = {}
        for each in links:
            self.by_cluster.setdefault(each.link.cluster, []).append(each)
        self.wrong = {each.link.number: QueuedLink.of(each.link).wrong for each in links}

    def ask(self, cluster: int) -> Judged:
        """Return the link of a cluster that is asked: its least sure one."""
        return max(self.by_cluster[cluster], key=lambda each: (self.wrong[each.link.number], -each.link.number))

    def spread(self, cluster: int) -> tuple[int, int]:
        """Return the numbers of errors that a decision removes and makes, if it holds for the whole cluster."""
        gold, own = self.ask(cluster).gold, self.by_cluster[cluster]
        removed = sum(each.gold == gold and not each.is_right for each in own)
        return removed, sum(each.gold != gold and each.is_right for each in own)

    def review(self, order: Sequence[int]) -> dict[str, Any]:
        """Decide clusters in an order, and return the shares."""
        total = sum(not each.is_right for each in self.links)
        limits = {share: int(share * len(self.links)) for share in _SHARES}
        removed = made = 0
        found: dict[str, Any] = {}
        for count, cluster in enumerate(order, 1):
            more = self.spread(cluster)
            removed, made = removed + more[0], made + more[1]
            for share, limit in limits.items():
                if count == limit or (count == len(order) and limit >= count):
                    found[f"removed_at_{round(100 * share)}"] = round((removed - made) / total, 4)
                    if share == 0.10:
                        found["made_wrong_pct"] = round(100 * made / max(1, removed), 2)
        return found

    def desk_order(self, desk: Path) -> list[int]:
        """Decide the links that the queue asks for, and return the clusters in that order."""
        order: list[int] = []
        golds = {each.link.number: each.gold for each in self.links}
        with open_desk(desk, exclusive=True) as opened:
            queue = ReviewQueue(opened)
            while (number := queue.next("gold")) is not None and len(order) < _SHARES[-1] * len(self.links):
                link = opened.link(number)
                verdict: Verdict = "right" if golds[number] == link.concept_id else "concept"
                own: dict[str, Any] = {"link": number, "scope": "everywhere", "concept_id": golds[number]}
                queue.decide(Decision(id=uuid.uuid4().hex, reviewer="gold", time="", verdict=verdict, **own))
                order.append(link.cluster)
        return order

    def orders(self, generator: random.Random) -> dict[str, list[int]]:
        """Return the orders besides that of the desk."""
        clusters = list(self.by_cluster)
        drawn = generator.sample([each.link.cluster for each in self.links], len(self.links))
        sure = {cluster: self.wrong[self.ask(cluster).link.number] for cluster in clusters}
        net = {cluster: removed - made for cluster in clusters for removed, made in [self.spread(cluster)]}
        return {
            "confidence": sorted(clusters, key=lambda cluster: (-sure[cluster], cluster)),
            "ceiling": sorted(clusters, key=lambda cluster: (-net[cluster], cluster)),
            "random": list(dict.fromkeys(drawn)),
            "random_clusters": generator.sample(clusters, len(clusters)),
        }


def review_corpus(path: Path) -> dict[str, Any]:
    """Return the figures of the orders on a corpus."""
    with tempfile.TemporaryDirectory() as name:
        desk = Path(name) / "desk.sqlite"
        links, generator = judge(path, desk), random.Random(0)
        session = Session(links)
        found = {"desk": session.review(session.desk_order(desk))}
    runs = [session.orders(generator) for _ in range(_RANDOM_ORDERS)]
    found |= {name: session.review(runs[0][name]) for name in ("confidence", "ceiling")}
    for name in ("random", "random_clusters"):
        shares = [session.review(each[name]) for each in runs]
        found[name] = {key: round(float(np.mean([each[key] for each in shares])), 4) for key in shares[0]}
    at, chance = {name: each["removed_at_10"] for name, each in found.items()}, found["random"]["removed_at_10"]
    counts = {"links": len(links), "wrong": sum(not each.is_right for each in links), "clusters": len(session.by_cluster)}
    ratios = {
        "ratio_to_random_at_10": round(at["desk"] / chance, 2),
        "ratio_to_random_clusters_at_10": round(at["desk"] / at["random_clusters"], 2),
        "ceiling_ratio_at_10": round(at["ceiling"] / chance, 2),
    }
    return counts | found | ratios | {"made_wrong_pct": found["desk"]["made_wrong_pct"]}


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
    context = get_context("forkserver")  # servers start fast, since all modules are loaded already
    context.set_forkserver_preload([__name__, "onym.serve.review", "onym.serve.server", "onym.kb.search"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kb = _build_small_kb(folder)
        make_desk(folder / "desk.sqlite", KnowledgeBase.open(kb), links)
        for number in range(kills):
            server = context.Process(target=_serve, args=(folder / "desk.sqlite", kb, folder / "log.txt"))
            server.start()
            url = _wait_for_url(folder / "log.txt", server.is_alive)
            killer = threading.Timer(generator.uniform(0.0, 0.3), server.kill)
            acknowledged += _decide_until_gone(url, number, links, killer)
            killer.join()
            server.join()
            (folder / "log.txt").unlink()
        with open_desk(folder / "desk.sqlite") as desk:
            stored = [each.id for each in desk.decisions()]
    lost, twice = len(set(acknowledged) - set(stored)), len(stored) - len(set(stored))
    return {"kills": kills, "acknowledged": len(acknowledged), "decisions_lost": lost, "decisions_twice": twice}


def _build_small_kb(folder: Path) -> Path:
    """Build a knowledge base that opens at once: what a server stores does not depend on its size."""
    rows = "".join(f"made:{number},term {number}\n" for number in range(50))
    (folder / "made.csv").write_text(f"id,name\n{rows}")
    build_kb(Recipe.of({"sources": [{"path": "made.csv"}]}), folder / "kb", root=folder)
    return folder / "kb"


def _serve(desk: Path, kb: Path, log: Path) -> None:
    logging.basicConfig(filename=log, level=logging.INFO)
    run_review(desk, KnowledgeBase.open(kb), ReviewSettings(port=0))


def _wait_for_url(log: Path, is_alive: Callable[[], bool]) -> str:
    while not (found := re.search(r"listening on (\S+)", log.read_text() if log.exists() else "")):
        if not is_alive():
            raise RuntimeError("the server of the desk does not start")
        time.sleep(0.02)
    return found[1]


def _decide_until_gone(url: str, seed: int, links: int, killer: threading.Timer) -> list[str]:
    """Decide links until the server is gone, and return the ids of the decisions that it acknowledged.

    The killer starts with the first of them, so that each server is killed while it stores decisions.
    """
    generator, done = random.Random(seed), list[str]()
    try:
        with httpx.Client(base_url=url, timeout=60) as client:
            csrf = client.get("/v1/review/desk").json()["csrf"]
            while True:
                body = _body(generator.randint(1, links))
                answer = client.post("/v1/review/decisions", json=body, headers={"x-onym-csrf": csrf})
                if answer.status_code == 200:
                    done.append(body["id"])
                    if len(done) == 1:
                        killer.start()
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
    found |= use_page() | kill_often(3 if options.quick else options.kills)
    return found | measure_reviewers(1_000 if options.quick else options.links, 5 if options.quick else 60)
