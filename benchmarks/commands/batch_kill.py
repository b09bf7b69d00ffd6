"""Runs of `onym batch` whose processes are killed, and are run again until they are done: is anything lost, doubled or torn?

Stub shards are small files over a made-up knowledge base; real ones are abstracts of BC5CDR with the starter. Drivers and
workers are killed by SIGKILL and SIGTERM, at random moments; and workers kill themselves before and after each step of
publishing an output: the hidden file is made, written, synced, renamed, its folder synced.

kills        how often, in all; `by_kind` says of what
lost         shards of an undisturbed run that are missing at the end
doubled      documents that stand in two outputs, or mentions that stand twice
torn         outputs that had a name after a kill and were not whole
other_bytes  outputs at the end that are not those of an undisturbed run, hidden files that were left among them
orphans      workers that outlived their driver
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.batch.made import children, doubled, driver, made_corpus, made_pipeline, outputs, planned, still_alive, torn
from benchmarks.report import data_folder
from onym.batch.ledger import status
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus, write_corpus

STUB, REAL, QUICK_STUB, QUICK_REAL = 700, 200, 5, 0
_STEPS = ("open", "fsync", "replace", "sync_folder")
_WORKER = """
import os, pathlib, signal, sys
import onym.store.output as output, onym.store.storage as storage
step, count, after = sys.argv[0] and os.environ["KILL_STEP"], int(os.environ["KILL_COUNT"]), os.environ["KILL_AFTER"] == "1"
seen = 0
def wrapped(function):
    def call(*arguments, **options):
        global seen
        seen += 1
        if seen == count and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        found = function(*arguments, **options)
        if seen == count and after:
            os.kill(os.getpid(), signal.SIGKILL)
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
    parser.add_argument("--stub", type=int, default=0, help="kills on stub shards; by default 700, or 5 with --quick")
    parser.add_argument("--real", type=int, default=0, help="kills on the real pipeline; by default 200, or none with --quick")
    parser.add_argument("--seed", type=int, default=13)


def run(options: argparse.Namespace) -> dict[str, object]:
    rng = random.Random(options.seed)
    stub = options.stub or (QUICK_STUB if options.quick else STUB)
    real = options.real or (QUICK_REAL if options.quick else REAL)
    found: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "stub").mkdir()
        pipeline = made_pipeline(base / "stub")
        corpus = made_corpus(base / "stub", 4 if options.quick else 40)
        found += _killed_runs(corpus, pipeline, stub, rng, kinds)
        if real:
            (base / "real").mkdir()
            found += _killed_runs(_abstracts(base / "real", files=8, documents=20), "starter", real, rng, kinds)
    names = ("lost", "doubled", "torn", "other_bytes", "orphans")
    figures = {"kills": sum(kinds.values()), **{name: found[name] for name in names}, "by_kind": dict(sorted(kinds.items()))}
    if any(found[name] for name in names):
        sys.exit(f"{figures}; none may be")
    return figures


def _killed_runs(corpus: Path, pipeline: Path | str, kills: int, rng: random.Random, kinds: Counter[str]) -> Counter[str]:
    """Run plans to their end again and again, killing something each time, until there were enough kills."""
    base, label = corpus.parent, corpus.parent.name
    reference = planned(corpus, pipeline, base / "reference")
    started = time.monotonic()
    if driver(reference).wait():
        sys.exit("an undisturbed run failed")
    wanted, duration = outputs(reference), time.monotonic() - started
    found: Counter[str] = Counter()
    done, number = 0, 0
    while done < kills:
        out, number = planned(corpus, pipeline, base / f"run{number}"), number + 1
        while not status(out).is_done:
            left = kills - done
            kind = rng.choice(("driver", "driver", "worker", "step")) if left > 0 else "none"
            was_killed, orphans = _one(out, kind, duration, rng)
            found["orphans"] += orphans
            found["torn"] += torn(out)
            if was_killed:
                done += 1
                kinds[f"{label} {was_killed}"] += 1
        ended = outputs(out)
        found["lost"] += len(wanted.keys() - ended.keys())
        found["other_bytes"] += sum(ended[name] != wanted.get(name) for name in ended)
        found["doubled"] += doubled(out)
    return found


def _one(out: Path, kind: str, duration: float, rng: random.Random) -> tuple[str, int]:
    """Run once, with one kill; return what was killed, if anything was, and how many orphans there are."""
    if kind == "step":
        step, after = rng.choice(_STEPS), rng.choice("01")
        environment = {"KILL_STEP": step, "KILL_COUNT": str(rng.randrange(1, 6)), "KILL_AFTER": after}
        process = driver(out, _WORKER, environment)
        workers = _watched(process.pid, 0.5)
        process.wait()
        return f"worker {'after' if after == '1' else 'before'} {step}", still_alive(workers)
    process = driver(out)
    number = rng.choice((signal.SIGKILL, signal.SIGTERM))
    workers = _watched(process.pid, rng.uniform(0, duration) if kind != "none" else 0)
    killed = ""
    if kind == "driver" and process.poll() is None:
        process.send_signal(number)
        killed = f"driver {number.name}"
    elif kind == "worker" and (alive := children(process.pid)):
        _send(rng.choice(alive), number)
        killed = f"worker {number.name}"
        workers += children(process.pid)
    process.wait()
    return killed, still_alive(workers)


def _watched(pid: int, seconds: float) -> list[int]:
    """Wait, and return the workers that were seen meanwhile."""
    end = time.monotonic() + seconds
    seen: set[int] = set()
    while time.monotonic() < end:
        seen.update(children(pid))
        time.sleep(0.02)
    return [*seen.union(children(pid))]


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:  # it ended by itself just now
        return


def _abstracts(folder: Path, files: int, documents: int) -> Path:
    """Write real abstracts, some to a file."""
    corpus = folder / "corpus"
    corpus.mkdir()
    source = read_corpus(data_folder() / "bc5cdr" / "CDR_TestSet.PubTator.txt.gz")
    found = [doc for doc, _ in zip(documents_of(source), range(files * documents), strict=False)]
    for number in range(files):
        write_corpus(found[number * documents : (number + 1) * documents], corpus / f"{number:03}.jsonl", "jsonl")
    return corpus
