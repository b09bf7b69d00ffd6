"""Compare the speed of linking raw text (dictionary and exact match) with that of an earlier commit.

Links PubMed abstracts to the open knowledge base; with `--quick`, few abstracts to HPO. Both versions of Onym run alternately
in separate processes, with the same dependencies. Loading and warm-up documents are not timed. Times are CPU times of
single-threaded processes, which vary less than wall time on a busy machine.

documents                 timed abstracts
mentions                  detected mentions, including those of the warm-up documents
documents_per_s           documents per CPU second, median of the rounds
before                    the earlier commit, or the reason why it could not be measured (no git history)
documents_per_s_before    documents_per_s of the earlier commit
ratio_to_before           speed relative to the earlier commit, median over the rounds
ratio_to_before_by_clock  the same ratio, in wall time
answers_changed           documents whose links differ from the earlier commit in any field
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
    parser.add_argument("--documents", type=int, default=0, help="number of abstracts; by default 3,000, or 200 with --quick")
    parser.add_argument("--rounds", type=int, default=0, help="runs per version; by default 6, or 1 with --quick")


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
    """Yield the PubMed citations that have an abstract."""
    items = onym.read_corpus(data_folder() / FILE, "pubmed")
    return (each for each in items if isinstance(each, Document) and len(each.passages) > 1)


def compare(kb: KnowledgeBase, documents: Sequence[Document], earlier: Sequence[str], rounds: int) -> dict[str, object]:
    """Return the figures of this version, and of the version that the command `earlier` runs, if given."""
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
