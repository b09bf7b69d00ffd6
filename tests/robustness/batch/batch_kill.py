"""Kill processes of `onym batch` at random moments, rerun until done, and check that nothing is lost, doubled or truncated.

Stub shards are small files linked with a made-up knowledge base; real shards are abstracts of BC5CDR linked with the starter.
Drivers and workers are killed by SIGKILL and SIGTERM at random moments, and workers kill themselves before and after each step
of publishing an output: create the hidden file, write it, sync it, rename it, sync its folder. On Ray, drivers, worker
processes and whole nodes are killed, with stub shards that take a moment each.

kills        number of kills; `by_kind` counts them by kind
lost         shards whose output is missing at the end
doubled      documents that are in two outputs, and duplicate mentions
torn         published outputs that were incomplete after a kill
other_bytes  final outputs that differ from the outputs of an undisturbed run, and hidden files left behind
orphans      workers that outlived their driver; on Ray, processes of the cluster that are still alive after two minutes
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import data_folder

from onym.batch.ledger import status
from onym.batch.plan import SHARDS
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus, write_corpus
from tests.robustness.batch.runs import (
    Process,
    children,
    count_doubled,
    count_torn,
    descendants,
    driver,
    identify,
    kill_nodes,
    make_corpus,
    make_pipeline,
    outputs,
    plan_run,
    ray_driver,
    still_alive,
    tasks,
)

STUB, REAL, RAY, NODES = 700, 200, 80, 20
QUICK_STUB = 5  # kills with --quick, all on local workers; the unit tests cover kills on Ray
_NAMES = ("lost", "doubled", "torn", "other_bytes", "orphans")
_PAUSE_S = 0.3  # longest pause in seconds before a kill
_AT_START, _AT_A_STEP = 0.2, 0.25  # shares of runs that are killed at the start, and in a step of publishing an output
_AT_STEPS = 4  # maximum number of times that workers kill themselves in a run; two at the same moment may exceed it by one
_DRIVERS, _RAY_S = 0.7, (2.0, 20.0)  # share of Ray runs whose driver is killed, and the range of seconds after its start
_AGENTS_S = 120.0  # seconds until the agents of a killed Ray node have exited
_NODES_LOST = 4  # maximum number of nodes removed per run
_STEPS = ("open", "fsync", "replace", "sync_folder")
_WORKER = """
import os, pathlib, signal, sys
import onym.store.output as output, onym.store.storage as storage
step, count, after = sys.argv[0] and os.environ["KILL_STEP"], int(os.environ["KILL_COUNT"]), os.environ["KILL_AFTER"] == "1"
seen = 0
def end():
    log = os.open(os.environ["KILL_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    if os.fstat(log).st_size < int(os.environ["KILL_LIMIT"]):
        os.write(log, b".")
        os.kill(os.getpid(), signal.SIGKILL)
def wrapped(function):
    def call(*arguments, **options):
        global seen
        seen += 1
        if seen == count and not after:
            end()
        found = function(*arguments, **options)
        if seen == count and after:
            end()
        return found
    return call
if step == "fsync":
    os.fsync = wrapped(os.fsync)
elif step == "open":
    storage.hidden = wrapped(storage.hidden)
elif step == "replace":
    pathlib.Path.replace = wrapped(pathlib.Path.replace)
else:
    storage.sync_folder = wrapped(storage.sync_folder)
from onym.batch.worker import main
sys.exit(main())
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stub", type=int, default=0, help="kills on stub shards (default: 700, or 5 with --quick)")
    parser.add_argument("--real", type=int, default=0, help="kills on the real pipeline (default: 200, or 0 with --quick)")
    parser.add_argument("--ray", type=int, default=0, help="kills of Ray drivers and workers (default: 80, or 0 with --quick)")
    parser.add_argument("--nodes", type=int, default=0, help="kills of nodes of a Ray cluster (default: 20, or 0 with --quick)")
    parser.add_argument("--only", choices=("stub", "real", "ray", "nodes"), help="run only this part")
    parser.add_argument("--seed", type=int, default=13)


def run(options: argparse.Namespace) -> dict[str, object]:
    rng = random.Random(options.seed)
    found: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for part, kills in _count_kills(options).items():
            base = Path(folder, part)
            base.mkdir()
            found += _Part(part, base, rng, kinds, is_quick=options.quick).kill_until_done(kills)
    figures = {"kills": sum(kinds.values()), **{name: found[name] for name in _NAMES}, "by_kind": dict(sorted(kinds.items()))}
    if any(found[name] for name in _NAMES):
        sys.exit(f"lost, doubled, torn, other_bytes and orphans must be 0: {figures}")
    return figures


def _count_kills(options: argparse.Namespace) -> dict[str, int]:
    """Return the number of kills of each part of the suite."""
    full = {"stub": STUB, "real": REAL, "ray": RAY, "nodes": NODES}
    quick = {"stub": QUICK_STUB, "real": 0, "ray": 0, "nodes": 0}
    by_default = quick if options.quick else full
    wanted = {part: getattr(options, part) or count for part, count in by_default.items()}
    return {part: count for part, count in wanted.items() if count and options.only in (None, part)}


class _Part:
    """Runs of one kind over one corpus. Each run is killed and repeated until it is complete."""

    def __init__(self, name: str, base: Path, rng: random.Random, kinds: Counter[str], *, is_quick: bool) -> None:
        self._name, self._base, self._rng, self._kinds = name, base, rng, kinds
        self._one = {"ray": _one_on_ray, "nodes": _one_with_nodes}.get(name, _one)
        self._pipeline: Path | str = "starter" if name == "real" else make_pipeline(base)
        self._corpus = _abstracts(base, files=8, documents=20) if name == "real" else make_corpus(base, 4 if is_quick else 40)

    def kill_until_done(self, kills: int) -> Counter[str]:
        """Run plans until the number of kills is reached; return the counts of errors."""
        reference = plan_run(self._corpus, self._pipeline, self._base / "reference")
        if driver(reference).wait():
            sys.exit("an undisturbed run failed")
        wanted = outputs(reference)
        found: Counter[str] = Counter()
        seen: set[Process] = set()
        done, number = 0, 0
        while done < kills:
            out, number = plan_run(self._corpus, self._pipeline, self._base / f"run{number}"), number + 1
            is_over = False
            while not is_over:
                ledger = status(out)
                left = 0 if ledger.is_done else kills - done
                killed, processes = self._one(out, left, len(ledger.open_shards), self._rng)
                is_over = not killed and status(out).is_done  # the last run must finish without kills
                seen |= processes
                found["torn"] += count_torn(out)
                done += len(killed)
                self._kinds.update(f"{self._name} {kind}" for kind in killed)
            ended = outputs(out)
            found["lost"] += len(wanted.keys() - ended.keys())
            found["other_bytes"] += sum(ended[name] != wanted.get(name) for name in ended)
            found["doubled"] += count_doubled(out)
        found["orphans"] = still_alive(seen, _AGENTS_S if self._name in ("ray", "nodes") else 20)
        return found


def _one(out: Path, left: int, shards: int, rng: random.Random) -> tuple[list[str], set[Process]]:
    """Run once, with kills if the wanted number is not reached; return what was killed, and the worker processes seen."""
    if left <= 0:
        return [], _watch_workers(driver(out), _never)
    return _kill_at_a_step(out, rng) if rng.random() < _AT_A_STEP else _kill_at_random(out, shards, rng)


def _kill_at_a_step(out: Path, rng: random.Random) -> tuple[list[str], set[Process]]:
    """Run once with workers that kill themselves a few times at a step of publishing. Each kill is written to a log first."""
    step, after = rng.choice(_STEPS), rng.choice("01")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "kills")
        wanted = {"KILL_STEP": step, "KILL_COUNT": str(rng.randrange(1, 6)), "KILL_AFTER": after}
        wanted |= {"KILL_LOG": str(log), "KILL_LIMIT": str(_AT_STEPS)}
        workers = _watch_workers(driver(out, _WORKER, wanted), _never)
        count = log.stat().st_size if log.exists() else 0
    return [f"worker {'after' if after == '1' else 'before'} {step}"] * count, workers


def _kill_at_random(out: Path, shards: int, rng: random.Random) -> tuple[list[str], set[Process]]:
    """Run once; kill up to two workers and then the driver, or only the driver before any shard is done.

    The moment of a kill is a random number of published shards plus a short pause, so it does not depend on the CPU's speed.
    A third worker is not killed, because a shard that loses three workers is quarantined.
    """
    published = _count_published(out)
    marks = sorted(rng.randrange(shards) for _ in range(rng.randrange(1, 4)))
    process = driver(out)
    if rng.random() < _AT_START:
        workers = _watch_workers(process, _after(rng.uniform(0, _PAUSE_S)))
        return _kill_driver(process, rng), workers | _watch_workers(process, _never)
    workers, killed = set[Process](), list[str]()
    *early, last = marks
    for mark in early:
        workers |= _watch_until(process, out, published + mark, rng)
        if alive := children(process.pid):
            number = rng.choice((signal.SIGKILL, signal.SIGTERM))
            _send(rng.choice(alive), number)
            killed.append(f"worker {number.name}")
    workers |= _watch_until(process, out, published + last, rng)
    killed += _kill_driver(process, rng)
    return killed, workers | _watch_workers(process, _never)


def _watch_until(process: subprocess.Popen[bytes], out: Path, published: int, rng: random.Random) -> set[Process]:
    """Wait until there are workers and `published` outputs, and then a short random time."""
    seen = _watch_workers(process, lambda: bool(children(process.pid)) and _count_published(out) >= published)
    return seen | _watch_workers(process, _after(rng.uniform(0, _PAUSE_S)))


def _kill_driver(process: subprocess.Popen[bytes], rng: random.Random) -> list[str]:
    if process.poll() is not None:
        return []
    number = rng.choice((signal.SIGKILL, signal.SIGTERM))
    process.send_signal(number)
    return [f"driver {number.name}"]


def _count_published(out: Path) -> int:
    folder = out / SHARDS
    return sum(1 for _ in folder.iterdir()) if folder.exists() else 0


def _never() -> bool:
    return False


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def _one_on_ray(out: Path, left: int, _shards: int, rng: random.Random) -> tuple[list[str], set[Process]]:
    """Run once on a new Ray cluster, killing workers repeatedly, and in most runs finally the driver."""
    process = ray_driver(out)
    workers_left, is_driver = min(left - 1, rng.randrange(5)), left > 0 and rng.random() < _DRIVERS
    ends_at = rng.uniform(*_RAY_S)
    killed: list[str] = []
    seen: set[Process] = set()
    started = time.monotonic()
    while process.poll() is None:
        seen |= identify(descendants(process.pid))
        number = rng.choice((signal.SIGKILL, signal.SIGTERM))
        if workers_left > 0 and (alive := tasks(process.pid)):
            _send(rng.choice(alive), number)
            killed.append(f"worker {number.name}")
            workers_left -= 1
            time.sleep(rng.uniform(0, 1))
        elif is_driver and time.monotonic() - started > ends_at:
            process.send_signal(number)
            killed.append(f"driver {number.name}")
            process.wait()
        time.sleep(0.05)
    return killed, seen


def _one_with_nodes(out: Path, left: int, _shards: int, _rng: random.Random) -> tuple[list[str], set[Process]]:
    """Run once on a Ray cluster of several nodes, killing nodes."""
    killed, processes = kill_nodes(out, min(max(left, 0), _NODES_LOST))
    return ["node SIGKILL"] * killed, processes


def _watch_workers(process: subprocess.Popen[bytes], is_time: Callable[[], bool]) -> set[Process]:
    """Wait until a moment or the end of the process, and return the workers seen meanwhile."""
    seen = identify(children(process.pid))
    while not is_time() and process.poll() is None:
        seen |= identify(children(process.pid))
        time.sleep(0.02)
    return seen


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:  # the process has just exited
        return


def _abstracts(folder: Path, files: int, documents: int) -> Path:
    """Write abstracts of BC5CDR, several to a file."""
    corpus = folder / "corpus"
    corpus.mkdir()
    source = read_corpus(data_folder() / "bc5cdr" / "CDR_TestSet.PubTator.txt.gz")
    found = [doc for doc, _ in zip(documents_of(source), range(files * documents), strict=False)]
    for number in range(files):
        write_corpus(found[number * documents : (number + 1) * documents], corpus / f"{number:03}.jsonl", "jsonl")
    return corpus
