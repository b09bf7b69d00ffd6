"""Compare this version with an earlier one: answers, time to the first answer, speed, memory, service, and scores.

Each version builds its own pipelines by its own command line (see `benchmarks.link.pipelines`) and runs in its own processes,
with the same dependencies. What the earlier version built is kept in the cache directory. A ratio is this version's figure
divided by the earlier one's, the median over rounds in which both versions run alternately. `--quick` uses 20 documents and no
models, and measures nothing if the earlier commit cannot be read.

before                    the earlier commit; with `--quick`, the reason if it could not be measured (no git history)
documents, mentions       documents or terms, and mentions found by this version, by pipeline
answers_changed           documents with a mention whose first answer differs: start, end, id, score or confidence (by more than
                          1e-5; 1e-4 for `map`, whose table has four digits), over all rows of `changed`
changed                   answers_changed by pipeline; `everyday` and `map` are the starter on everyday sentences and on terms
first_answer_s            CPU seconds of `onym link TEXT` with the starter in a fresh process, now and before
first_answer_ratio        their ratio
documents_per_s           documents per CPU second by pipeline, now and before
speed_ratio               ratio of documents_per_s with the starter on raw texts; also speed_ratio_exact, speed_ratio_tfidf
by_type_single_ratio      the same for the linker by_type, one document at a time
memory_mb                 peak memory of a process that links all texts with the starter, now and before
memory_ratio              their ratio
memory_ratio_single       the same, one document at a time
serve_per_cpu_s           requests per CPU second of all processes of `onym serve` with the starter, 8 clients, now and before
serve_ratio               their ratio
scores                    benchmarks that score published predictions, or the predictions in `results/`, again
scores_changed            benchmarks that fail or whose printed figures differ
seconds                   wall time by part
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.link import worker
from benchmarks.link.answers import TOLERANCE, Row, compare_documents, read_rows, read_terms
from benchmarks.link.earlier import NotReachableError, Version
from benchmarks.link.inputs import COLUMN, read_texts, write_inputs
from benchmarks.link.pipelines import ANSWERED, DOCUMENTS, QUICK, Pipelines
from benchmarks.link.turns import median_ratio, plain_environment, run_alone, take_turns
from benchmarks.serve.client import link_request, load
from benchmarks.serve.running import Running

UPPER_BOUNDS = {"answers_changed": 0, "scores_changed": 0}
FULL_BOUNDS = {"first_answer_ratio": 1.03, "memory_ratio": 1.03, "memory_ratio_single": 1.12}
FULL_LOWER_BOUNDS = {"speed_ratio": 0.97, "serve_ratio": 0.97, "by_type_single_ratio": 0.95}
PARTS = ("answers", "first", "speed", "memory", "serve", "scores")
SCORED = ("rescore", "generative-results", "dense-results", "rerank-results", "e2e-results", "detector-results")
"""Benchmarks that rescore stored predictions."""
TEXT = "Patients with asthma and diabetes"
_ASTHMA = "D001249"
_MAP_TOLERANCE = 1.01e-4  # the table of `onym map` has four digits
_SHOWN = 3  # documents
_ROUNDS = {"first": 9, "speed": 5, "memory": 3, "serve": 9}
_QUICK_ROUNDS = 2
_CLIENTS = 8

Figures = dict[str, object]


@dataclass(frozen=True)
class Size:
    """The number of documents, terms, requests and benchmarks of a run."""

    documents: int = 500
    names: int = 2_000
    requests: int = 100
    scored: tuple[str, ...] = SCORED


@dataclass(frozen=True)
class Comparison:
    """The pipelines of both versions, and the folder of their inputs and answers."""

    now: Pipelines
    before: Pipelines
    folder: Path

    def take_turns(self, name: str, documents: str, rounds: int, *mode: str) -> list[tuple[Row, Row]]:
        """Link documents with both versions alternately, and return the pairs of their workers' figures."""
        now, before = (partial(self._link, each, name, documents, *mode) for each in (self.now, self.before))
        pairs = take_turns(now, before, rounds)
        if pairs[0][0]["onym"] == pairs[0][1]["onym"]:
            raise RuntimeError(f"both processes imported Onym from {pairs[0][0]['onym']}")
        return pairs

    def _link(self, pipelines: Pipelines, name: str, documents: str, *mode: str) -> Row:
        paths = self.folder / f"{documents}.pubtator", self.answers(pipelines)
        report: Row = json.loads(pipelines.run(worker.__file__, pipelines.locate(name), *paths, *mode).output)
        return report

    def answers(self, pipelines: Pipelines) -> Path:
        """Return the file of a version's latest answers."""
        return self.folder / f"answers-{'now' if pipelines is self.now else 'before'}.jsonl"

    def read_answers(self) -> tuple[list[Row], list[Row]]:
        return read_rows(self.answers(self.now)), read_rows(self.answers(self.before))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--before", default="", help="revision to compare with; by default origin/main, else the parent of HEAD"
    )
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    parser.add_argument("--differences", type=Path, help="write all different answers to this file, as JSON lines")
    parser.add_argument("--rounds", type=int, default=0, help="timed rounds of each part; by default 3 to 9, or 2 with --quick")


def run(options: argparse.Namespace) -> Figures:
    try:
        version = Version.of(options.before)
        kept = version.folder / "pipelines"
    except NotReachableError as e:
        if not options.quick:
            raise
        return {"before": f"not measured: {e}"}
    size = Size(20, 20, 10, SCORED[:1]) if options.quick else Size()
    parts = [options.only] if options.only else PARTS
    rounds = {part: options.rounds or (_QUICK_ROUNDS if options.quick else count) for part, count in _ROUNDS.items()}
    figures: Figures = {"before": version.commit}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, size.documents, size.names)
        now, before = Pipelines(Version(), folder / "now", options.quick), Pipelines(version, kept, options.quick)
        pair = Comparison(now, before, folder)
        measures: dict[str, Callable[[], Figures]] = {
            "answers": partial(compare_answers, pair, QUICK if options.quick else ANSWERED, options.differences),
            "first": partial(compare_first_answers, pair, rounds["first"]),
            "speed": partial(compare_speeds, pair, rounds["speed"]),
            "memory": partial(compare_memory, pair, rounds["memory"]),
            "serve": partial(compare_services, pair, rounds["serve"], size.requests),
            "scores": partial(compare_scores, pair, size.scored),
        }
        seconds = {}
        for part in parts:
            began = time.perf_counter()
            figures |= measures[part]()
            seconds[part] = round(time.perf_counter() - began)
    return figures | {"seconds": seconds}


def compare_answers(pair: Comparison, names: Sequence[str], differences: Path | None) -> Figures:
    """Link documents with each pipeline and map terms in both versions, and count the documents whose answers differ."""
    answers = {}
    for name in names:
        pair.take_turns(name, DOCUMENTS.get(name, "annotated"), rounds=1)
        answers[name] = pair.read_answers()
    pair.take_turns("starter", "everyday", rounds=1)
    answers["everyday"] = pair.read_answers()
    answers["map"] = _map_terms(pair.now, pair.folder), _map_terms(pair.before, pair.folder)
    changes = {
        name: compare_documents(now, before, _MAP_TOLERANCE if name == "map" else TOLERANCE)
        for name, (now, before) in answers.items()
    }
    _report(changes, differences)
    changed = {name: len({row["document"] for row in rows}) for name, rows in changes.items()}
    return {
        "documents": {name: len(now) for name, (now, _) in answers.items()},
        "mentions": {name: sum(len(row["links"]) for row in now) for name, (now, _) in answers.items()},
        "answers_changed": sum(changed.values()),
        "changed": changed,
    }


def _map_terms(pipelines: Pipelines, folder: Path) -> list[Row]:
    output = pipelines.folder / "mapped.jsonl"
    words = ["--column", COLUMN, "--pipeline", "starter", "--id-style", "curie", "--force", "--output", output]
    pipelines.run("-m", "onym", "map", folder / "names.tsv", *words)
    return read_terms(output, COLUMN)


def _report(changes: dict[str, list[Row]], differences: Path | None) -> None:
    """Print the first changed documents of each pipeline, without text; write all differences to the file, if given."""
    for name, rows in changes.items():
        fields: dict[str, list[str]] = {}
        for row in rows:
            fields.setdefault(row["document"], []).extend(row["fields"])
        for document, changed in list(fields.items())[:_SHOWN]:
            print(f"{name}: document {document}: {', '.join(dict.fromkeys(changed))}", file=sys.stderr)
    if differences:
        lines = (json.dumps({"pipeline": name, **row}, ensure_ascii=False) for name, rows in changes.items() for row in rows)
        differences.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def compare_first_answers(pair: Comparison, rounds: int) -> Figures:
    """Time `onym link TEXT` in fresh processes, with bytecode and cache directory warmed up for each version."""
    now, before = partial(first_answer, pair.now), partial(first_answer, pair.before)
    take_turns(now, before, 2)
    pairs = take_turns(now, before, rounds)
    return {"first_answer_s": _medians(pairs, 3), "first_answer_ratio": round(median_ratio(pairs), 3)}


def first_answer(pipelines: Pipelines) -> float:
    """Return the CPU seconds of one process."""
    output, seconds = pipelines.run("-m", "onym", "link", TEXT)
    if _ASTHMA not in output:
        raise RuntimeError(f"asthma is missing from the output: {output}")
    return seconds


def _medians(pairs: Sequence[tuple[float, float]], digits: int = 1) -> list[float]:
    """Return the medians of this version and of the earlier one."""
    return [round(median(values), digits) for values in zip(*pairs, strict=True)]


def compare_speeds(pair: Comparison, rounds: int) -> Figures:
    """Time linking with three pipelines, and with a fourth one document at a time."""
    speeds = {name: _measure(pair, "documents_per_s", rounds, name) for name in QUICK}
    speeds["by_type"] = _measure(pair, "documents_per_s", rounds, "by_type", "single")
    ratios = {name: round(median_ratio(pairs), 3) for name, pairs in speeds.items()}
    return {
        "documents_per_s": {name: _medians(pairs) for name, pairs in speeds.items()},
        "speed_ratio": ratios["starter"],
        "speed_ratio_exact": ratios["exact"],
        "speed_ratio_tfidf": ratios["tfidf"],
        "by_type_single_ratio": ratios["by_type"],
    }


def compare_memory(pair: Comparison, rounds: int) -> Figures:
    """Measure the peak memory of linking with the starter, all documents at once and one at a time."""
    many = _measure(pair, "memory_mb", rounds, "starter")
    single = _measure(pair, "memory_mb", rounds, "starter", "single")
    return {
        "memory_mb": _medians(many),
        "memory_ratio": round(median_ratio(many), 3),
        "memory_ratio_single": round(median_ratio(single), 3),
    }


def _measure(pair: Comparison, figure: str, rounds: int, name: str, *mode: str) -> list[tuple[float, float]]:
    """Return the pairs of a figure that the workers print."""
    pairs = pair.take_turns(name, DOCUMENTS.get(name, "annotated"), rounds, *mode)
    return [(now[figure], before[figure]) for now, before in pairs]


def compare_services(pair: Comparison, rounds: int, count: int) -> Figures:
    """Start a service of each version, and send the same requests to both alternately."""
    requests = [link_request(text) for text in read_texts(count)]
    with ExitStack() as stack:
        now, before = (partial(_load, _service(stack, each), requests) for each in (pair.now, pair.before))
        take_turns(now, before, 1)
        pairs = [(count / one, count / other) for one, other in take_turns(now, before, rounds)]
    return {"serve_per_cpu_s": _medians(pairs), "serve_ratio": round(median_ratio(pairs), 3)}


def _service(stack: ExitStack, pipelines: Pipelines) -> Running:
    pipelines.folder.mkdir(parents=True, exist_ok=True)
    environment = plain_environment(OMP_NUM_THREADS="1", ONYM_CACHE=str(pipelines.cache))
    service = Running("starter", pipelines.folder / "serve.log", python=pipelines.version.command, env=environment)
    stack.callback(service.stop)
    service.wait_until_ready()
    return service


def _load(service: Running, requests: Sequence[bytes]) -> float:
    """Send the requests, and return the CPU seconds of all processes of the service."""
    before = service.cpu_by_pid()
    answers, _ = asyncio.run(load(service.url, requests, _CLIENTS))
    if {answer.status for answer in answers} != {200}:
        raise RuntimeError(f"a response is not 200; service log: {service.read_log()[-500:]}")
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in service.cpu_by_pid().items())


def compare_scores(pair: Comparison, names: Sequence[str]) -> Figures:
    """Rescore stored predictions with the benchmarks of each version, and count the benchmarks whose figures differ."""
    changed = [name for name in names if not _is_scored_alike(pair, name)]
    return {"scores": len(names), "scores_changed": len(changed)}


def _is_scored_alike(pair: Comparison, name: str) -> bool:
    before = scores_of(pair.before.version, name, pair.folder)
    try:
        now = scores_of(pair.now.version, name, pair.folder)
    except RuntimeError as e:  # these benchmarks exit with an error if a figure differs from the stored one
        print(f"{name}: {e}", file=sys.stderr)
        return False
    if now != before:
        print(f"{name}: the figures differ", file=sys.stderr)
    return now == before


def scores_of(version: Version, name: str, folder: Path) -> object:
    """Return the figures of a benchmark, run from the files of one version."""
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from benchmarks.__main__ import main; sys.exit(main(sys.argv[1:]))"
    output, _ = run_alone([*version.command, "-c", code, version.source, name], folder)
    return json.loads(output.splitlines()[-1])["figures"]
