"""Raw text with the dictionary and exact match: documents per second, beside an earlier commit on the same machine.

Real PubMed abstracts, linked to the open knowledge base; with `--quick` few of them, to HPO. Both versions of Onym run as
processes of their own, by turns, with the same dependencies. Opening and the first documents are not timed. Seconds are those
of the processor, of which each process uses one at a time: they are steadier than a clock's on a machine that has other work.

documents                 abstracts that are timed
mentions                  mentions that were found, in those that are not timed too
documents_per_s           median of the rounds
before                    the earlier commit; or why it was not measured, where the history of the repository is not there
documents_per_s_before    the same of the earlier commit
ratio_to_before           speed, against the earlier commit: the median of the ratios of the rounds
ratio_to_before_by_clock  the same by the clock
answers_changed           documents whose links are not those of the earlier commit, in any field
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

import onym
from benchmarks.link import worker
from benchmarks.link.answers import Report, count_changed_documents, require_two_versions, write_documents
from benchmarks.link.earlier import BEFORE, NotReachableError, command_of
from benchmarks.link.turns import median_ratio, run_alone, take_turns
from benchmarks.report import data_folder
from benchmarks.results.tasks import hpo_kb, open_kb
from onym import Document, KnowledgeBase

UPPER_BOUNDS = {"answers_changed": 0}
FULL_LOWER_BOUNDS = {"ratio_to_before": 0.97}
FILE = "pubmed/pubmed20n0014.xml.gz"
FULL, QUICK = 3_000, 200
_WARM_UP = 100  # documents
_ROUNDS = 6


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=0, help="abstracts; by default 3,000, or 200 with --quick")
    parser.add_argument("--rounds", type=int, default=0, help="runs of each version; by default 6, or 1 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.documents or (QUICK if options.quick else FULL)
    rounds = options.rounds or (1 if options.quick else _ROUNDS)
    documents = list(islice(abstracts(), _WARM_UP + count))
    kb = hpo_kb() if options.quick else open_kb()
    try:
        earlier, before = command_of(BEFORE), BEFORE
    except NotReachableError as e:
        if not options.quick:
            raise
        earlier, before = [], f"not measured: {e}"
    return {"before": before, **compare(kb, documents, earlier, rounds)}


def abstracts() -> Iterator[Document]:
    """Yield the citations of a PubMed file that have an abstract."""
    items = onym.read_corpus(data_folder() / FILE, "pubmed")
    return (each for each in items if isinstance(each, Document) and len(each.passages) > 1)


def compare(kb: KnowledgeBase, documents: Sequence[Document], earlier: Sequence[str], rounds: int) -> dict[str, object]:
    """Return the figures of this Onym, and of the one that the command `earlier` runs, if there is one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder / "documents.jsonl", documents)
        _build(earlier or command_of(), kb, folder)
        now, then = partial(_run_link, command_of(), folder, "now"), partial(_run_link, earlier, folder, "then")
        if not earlier:
            return _figures([now() for _ in range(rounds)], len(documents) - _WARM_UP)
        pairs = take_turns(now, then, rounds)
        changed = count_changed_documents(folder / "now.jsonl", folder / "then.jsonl")
    return _figures([one for one, _ in pairs], len(documents) - _WARM_UP) | _compare(pairs, len(documents) - _WARM_UP, changed)


def _figures(now: Sequence[Report], timed: int) -> dict[str, object]:
    return {"documents": timed, "mentions": now[0]["mentions"], "documents_per_s": _speed(now, timed)}


def _compare(pairs: Sequence[tuple[Report, Report]], timed: int, changed: int) -> dict[str, object]:
    require_two_versions(*pairs[0])
    return {
        "documents_per_s_before": _speed([then for _, then in pairs], timed),
        "ratio_to_before": _ratio(pairs, "cpu_s"),
        "ratio_to_before_by_clock": _ratio(pairs, "wall_s"),
        "answers_changed": changed,
    }


def _speed(reports: Sequence[Report], timed: int) -> float:
    return round(timed / float(median(report["cpu_s"] for report in reports)), 1)


def _ratio(pairs: Sequence[tuple[Report, Report]], clock: str) -> float:
    return round(median_ratio([(then[clock], now[clock]) for now, then in pairs]), 3)


def _build(python: Sequence[str], kb: KnowledgeBase, folder: Path) -> None:
    task = {"kb": str(kb.folder.parent), "folder": str(folder / "pipeline"), "linker": "exact", "detector": "dictionary"}
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n", "utf-8")
    run_alone([*python, worker.__file__, "build", folder / "tasks.jsonl"], folder)


def _run_link(python: Sequence[str], folder: Path, name: str) -> Report:
    words = [folder / "pipeline", folder / "documents.jsonl", _WARM_UP, folder / f"{name}.jsonl"]
    report: Report = json.loads(run_alone([*python, worker.__file__, "link", *words], folder)[0])
    return report
