"""Compare this version with an earlier commit: answers, time to the first answer, and service throughput.

Both versions run alternately in separate processes, with the same dependencies. Pipelines (see `benchmarks.link.pipelines`) are
built by the earlier version and opened by both. Documents are the test splits of BC5CDR and NCBI disease, plus PubMed abstracts
for pipelines with a detector. `--quick` uses 20 documents and no model.

before                    the earlier commit; with `--quick`, the reason if it could not be measured (no git history)
documents                 documents per pipeline
mentions                  mentions by pipeline
answers_changed           documents whose links differ in any field (span, ids, candidates, scores, confidence ...), over all
                          pipelines
changed                   answers_changed by pipeline
artefacts_changed         files of the pipelines that this version rewrote instead of opening them unchanged
first_answer_s            CPU seconds of `onym link TEXT` with the starter in a fresh process, median of the rounds
first_answer_s_before     first_answer_s of the earlier commit
first_answer_ratio        ratio to the earlier commit, median over the rounds
serve_per_cpu_s           requests per CPU second of all processes of `onym serve` with the starter, 8 clients
serve_per_cpu_s_before    serve_per_cpu_s of the earlier commit
serve_ratio               throughput relative to the earlier commit, median over the rounds
serve_answers_changed     responses whose body differs
scores                    benchmarks that score published predictions, or the predictions in `results/`, again
scores_changed            benchmarks that fail or whose printed figures differ
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

import onym
from benchmarks.commands.link_speed import abstracts
from benchmarks.link.answers import Report, count_changed_documents, require_two_versions, write_documents
from benchmarks.link.earlier import BEFORE, ROOT, NotReachableError, command_of, python_of, source_of
from benchmarks.link.pipelines import Row, files_of, rows_of, worker_words
from benchmarks.link.turns import median_ratio, plain_environment, run_alone, take_turns
from benchmarks.report import data_folder
from benchmarks.serve.client import Got, link_request, load
from benchmarks.serve.running import Running
from onym import Document

UPPER_BOUNDS = {"answers_changed": 0, "artefacts_changed": 0, "serve_answers_changed": 0, "scores_changed": 0}
FULL_BOUNDS = {"first_answer_ratio": 0.75}
FULL_LOWER_BOUNDS = {"serve_ratio": 0.97}
PARTS = ("answers", "first", "serve", "scores")
SCORED = ("rescore", "generative-results", "dense-results", "rerank-results", "e2e-results", "detector-results")
"""Benchmarks that rescore stored predictions."""
TEXT = "Patients with asthma and diabetes"
_ASTHMA = ("MESH:D001249", "MONDO:0004979")  # the starter had MONDO alone before
_FULL, _QUICK = 500, 20  # documents
_ANNOTATED = {
    "bc5cdr": ("bc5cdr/CDR_TestSet.PubTator.txt.gz", 4),
    "ncbi": ("ncbi_disease/NCBItestset_corpus.txt", 1),
}
"""PubTator files, and how many fifths of the annotated documents come from each."""
_ROUNDS, _QUICK_ROUNDS = 9, 2
_REQUESTS, _QUICK_REQUESTS = 100, 10  # requests per round and version
_CLIENTS = 8


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    parser.add_argument("--documents", type=int, default=0, help="documents per pipeline; by default 500, or 20 with --quick")
    parser.add_argument("--rounds", type=int, default=0, help="timed rounds; by default 9, or 2 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.documents or (_QUICK if options.quick else _FULL)
    rounds = options.rounds or (_QUICK_ROUNDS if options.quick else _ROUNDS)
    parts = [options.only] if options.only else PARTS
    try:
        python_of(BEFORE)
    except NotReachableError as e:
        if not options.quick:
            raise
        return {"before": f"not measured: {e}"}
    figures: dict[str, object] = {"before": BEFORE}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "answers" in parts:
            figures |= compare_answers(folder, count, quick=options.quick)
        if "first" in parts:
            figures |= compare_first_answers(folder, rounds)
        if "serve" in parts:
            figures |= compare_services(folder, rounds, _QUICK_REQUESTS if options.quick else _REQUESTS)
        if "scores" in parts:
            figures |= compare_scores(folder, SCORED[:1] if options.quick else SCORED)
    return figures


def compare_answers(folder: Path, count: int, *, quick: bool) -> dict[str, object]:
    """Link the documents with each pipeline in both versions, and count those whose answers differ."""
    built, rows = rows_of(BEFORE, quick=quick)
    write_documents(folder / "annotated.jsonl", read_annotated(count))
    write_documents(folder / "texts.jsonl", texts(count))
    then = {row.name: _link(row, folder, BEFORE, "then") for row in rows}
    before = files_of(built)
    now = {row.name: _link(row, folder, "", "now") for row in rows}
    require_two_versions(now["exact"], then["exact"])
    changed = {
        row.name: count_changed_documents(folder / f"{row.name}-now.jsonl", folder / f"{row.name}-then.jsonl") for row in rows
    }
    return {
        "documents": count,
        "mentions": {name: report["mentions"] for name, report in now.items()},
        "answers_changed": sum(changed.values()),
        "changed": changed,
        "artefacts_changed": len(before.items() ^ files_of(built).items()),
    }


def _link(row: Row, folder: Path, commit: str, when: str) -> Report:
    documents = folder / ("annotated.jsonl" if row.is_annotated else "texts.jsonl")
    words = worker_words(row, documents, folder / f"{row.name}-{when}.jsonl")
    report: Report = json.loads(run_alone([*command_of(commit), *words], folder)[0])
    return report


def read_annotated(count: int) -> list[Document]:
    """Return test documents with their annotated mentions."""
    parts = [islice(_documents(path), count * fifths // 5) for path, fifths in _ANNOTATED.values()]
    found = [doc for part in parts for doc in part]
    if len(found) != count:
        msg = f"found {len(found)} annotated documents instead of {count}; set --documents to a multiple of 5 up to 500"
        raise ValueError(msg)
    return found


def texts(count: int) -> list[Document]:
    """Return raw texts: half of them test documents without their mentions, half PubMed abstracts."""
    half = count // 2
    plain = [replace(doc, mentions=()) for doc in read_annotated(count)[::-1][:half]]
    return plain + list(islice(abstracts(), count - half))


def _documents(path: str) -> Iterator[Document]:
    return (item for item in onym.read_corpus(data_folder() / path, "pubtator") if isinstance(item, Document))


def compare_first_answers(folder: Path, rounds: int) -> dict[str, object]:
    """Time `onym link TEXT` in fresh processes, with bytecode and cache directory warmed up for each version."""
    now, then = (partial(first_answer, folder, commit) for commit in ("", BEFORE))
    take_turns(now, then, 2)
    pairs = take_turns(now, then, rounds)
    return {
        "first_answer_s": round(median(one for one, _ in pairs), 3),
        "first_answer_s_before": round(median(other for _, other in pairs), 3),
        "first_answer_ratio": round(median_ratio(pairs), 3),
    }


def first_answer(folder: Path, commit: str) -> float:
    """Return the CPU seconds of one process."""
    cache = str(folder / f"cache-{commit}")
    output, seconds = run_alone([*command_of(commit), "-m", "onym", "link", TEXT], folder, ONYM_CACHE=cache)
    if not any(concept in output for concept in _ASTHMA):
        msg = f"asthma is missing from the output: {output}"
        raise RuntimeError(msg)
    return seconds


def compare_services(folder: Path, rounds: int, count: int) -> dict[str, object]:
    """Start a service of each version, and send the same requests to both alternately."""
    requests = [link_request(doc.text) for doc in islice(_documents(_ANNOTATED["bc5cdr"][0]), count)]
    with ExitStack() as stack:
        now, then = (partial(_load, _service(stack, folder, commit), requests) for commit in ("", BEFORE))
        answers = take_turns(now, then, 1)[0]
        pairs = [(one[1], other[1]) for one, other in take_turns(now, then, rounds)]
    bodies = zip(*([json.loads(answer.body) for answer in got] for got, _ in answers), strict=True)
    return {
        "serve_per_cpu_s": round(count / median(one for one, _ in pairs), 1),
        "serve_per_cpu_s_before": round(count / median(other for _, other in pairs), 1),
        "serve_ratio": round(1 / median_ratio(pairs), 3),
        "serve_answers_changed": sum(one != other for one, other in bodies),
    }


def _service(stack: ExitStack, folder: Path, commit: str) -> Running:
    environment = plain_environment(OMP_NUM_THREADS="1")
    service = Running("starter", folder / f"serve-{commit}.log", python=command_of(commit), env=environment)
    stack.callback(service.stop)
    service.wait_until_ready()
    return service


def _load(service: Running, requests: Sequence[bytes]) -> tuple[list[Got], float]:
    """Return all responses, and the CPU seconds of all processes of the service."""
    before = service.cpu_by_pid()
    answers, _ = asyncio.run(load(service.url, requests, _CLIENTS))
    spent = sum(seconds - before.get(pid, 0.0) for pid, seconds in service.cpu_by_pid().items())
    if {answer.status for answer in answers} != {200}:
        raise RuntimeError(f"a response is not 200; service log: {service.read_log()[-500:]}")
    return answers, spent


def compare_scores(folder: Path, names: Sequence[str]) -> dict[str, object]:
    """Rescore stored predictions with the benchmarks of each version, and count the benchmarks whose figures differ."""
    changed = [name for name in names if not _is_scored_alike(folder, name)]
    return {"scores": len(names), "scores_changed": len(changed)}


def _is_scored_alike(folder: Path, name: str) -> bool:
    then = scores_of(folder, BEFORE, source_of(BEFORE), name)
    try:
        now = scores_of(folder, "", ROOT, name)
    except RuntimeError as e:  # these benchmarks exit with an error if a figure differs from the stored one
        print(f"{name}: {e}", file=sys.stderr)
        return False
    if now != then:
        print(f"{name}: the figures differ", file=sys.stderr)
    return now == then


def scores_of(folder: Path, commit: str, root: Path, name: str) -> object:
    """Return the figures of a benchmark, run from the files of one version."""
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from benchmarks.__main__ import main; sys.exit(main(sys.argv[1:]))"
    output, _ = run_alone([*command_of(commit), "-c", code, root, name], folder)
    return json.loads(output.splitlines()[-1])["figures"]
