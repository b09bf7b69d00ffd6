"""Raw text with the dictionary and exact match: documents per second, beside an earlier commit on the same machine.

Real PubMed abstracts, linked to the open knowledge base; with `--quick` few of them, to HPO. Both versions of Onym run as
processes of their own, by turns, with the same dependencies. Opening and the first documents are not timed. Seconds are those
of the processor, of which each process uses one at a time: they are steadier than a clock's on a machine that has other work.

documents                 abstracts that are timed
mentions                  mentions that were found, in those that are not timed too
documents_per_s           median of the rounds
before                    the earlier commit; or why it was not measured, where it or the package index is not reachable
documents_per_s_before    the same of the earlier commit
ratio_to_before           speed, against the earlier commit
ratio_to_before_by_clock  the same by the clock
answers_changed           documents whose links are not those of the earlier commit
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.link import worker
from benchmarks.link.earlier import NotReachableError, python_of
from benchmarks.report import data_folder
from benchmarks.results.tasks import hpo_kb, open_kb
from onym.corpora.base import documents_of
from onym.corpora.formats import get
from onym.kb import KnowledgeBase
from onym.store.files.source import Source
from onym.types import Document

BEFORE = "702839f"
FILE = "pubmed/pubmed20n0014.xml.gz"
FULL, QUICK = 3_000, 200
_WARM_UP = 100  # documents
_ROUNDS = 5
Report = dict[str, Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=0, help="abstracts; by default 3,000, or 200 with --quick")
    parser.add_argument("--rounds", type=int, default=0, help="runs of each version; by default 5, or 1 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.documents or (QUICK if options.quick else FULL)
    rounds = options.rounds or (1 if options.quick else _ROUNDS)
    documents = list(islice(abstracts(), _WARM_UP + count))
    kb = hpo_kb() if options.quick else open_kb()
    try:
        earlier, before = [str(python_of(BEFORE)), "-I"], BEFORE
    except NotReachableError as e:
        if not options.quick:
            raise
        earlier, before = [], f"not measured: {e}"
    return {"before": before, **compare(kb, documents, earlier, rounds)}


def abstracts() -> Iterator[Document]:
    """Yield the citations of a PubMed file that have an abstract."""
    documents = documents_of(get("pubmed").read(Source.open(data_folder() / FILE)))
    return (doc for doc in documents if len(doc.passages) > 1)


def compare(kb: KnowledgeBase, documents: Sequence[Document], earlier: Sequence[str], rounds: int) -> dict[str, object]:
    """Return the figures of this Onym, and of the one that the command `earlier` runs, if there is one."""
    now: list[Report] = []
    then: list[Report] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.jsonl"
        path.write_text("".join(f"{json.dumps(_row(doc))}\n" for doc in documents), "utf-8")
        for _ in range(rounds):
            then += [_linked(earlier, kb, path)] if earlier else []
            now.append(_linked([sys.executable], kb, path))
    timed = len(documents) - _WARM_UP
    speed = timed / _seconds(now)
    figures: dict[str, object] = {"documents": timed, "mentions": now[0]["mentions"], "documents_per_s": round(speed, 1)}
    if not then:
        return figures
    if then[0]["onym"] == now[0]["onym"]:
        msg = f"both processes have the Onym of {now[0]['onym']}"
        raise RuntimeError(msg)
    changed = sum(one != other for one, other in zip(now[0]["digests"], then[0]["digests"], strict=True))
    return figures | {
        "documents_per_s_before": round(timed / _seconds(then), 1),
        "ratio_to_before": round(_seconds(then) / _seconds(now), 2),
        "ratio_to_before_by_clock": round(_seconds(then, "wall_s") / _seconds(now, "wall_s"), 2),
        "answers_changed": changed,
    }


def _row(doc: Document) -> Report:
    passages = [(passage.start, passage.end, passage.kind) for passage in doc.passages]
    return {"id": doc.id, "text": doc.text, "passages": passages}


def _linked(python: Sequence[str], kb: KnowledgeBase, documents: Path) -> Report:
    command = [*python, worker.__file__, str(kb.folder.parent), str(documents), str(_WARM_UP)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report: Report = json.loads(done.stdout)
    return report


def _seconds(reports: Sequence[Report], clock: str = "cpu_s") -> float:
    return float(median(report[clock] for report in reports))
