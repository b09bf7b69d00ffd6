"""One case of fuzzing: a mutated release, read to its end in memory; and the process that runs many of them."""

from __future__ import annotations

import gzip
import os
import random
import resource
import signal
import sys
import traceback
import warnings
from dataclasses import dataclass, fields
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa

from benchmarks.kb.mutation import mutated
from onym.errors import OnymError
from onym.kb import readers
from onym.kb.schema import SCHEMA
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.testing.releases import SAMPLES, Release

HANG_S = 5.0  # of one process's time
_GROWTH = 256 * 2**20  # bytes that a process may grow while it works
_TIGHT = Limits(**{limit.name: min(max(1, getattr(DEFAULT_LIMITS, limit.name) // 10), 300) for limit in fields(Limits)})
_OTHERS = [data for releases in SAMPLES.values() for release in releases for data in release.values()]


@dataclass(frozen=True)
class Case:
    """What is read, and how."""

    files: tuple[tuple[str, bytes], ...]
    limits: Limits
    detected: bool


def make_case(seed: int, reader: str, number: int) -> Case:
    """Return the case of this number; always the same one."""
    rng = random.Random(f"{seed}:{reader}:{number}")
    release = _some_files(rng, rng.choice(SAMPLES[reader]))
    victim = rng.choice(list(release))
    files = [(name, mutated(rng, data, _OTHERS) if name == victim else data) for name, data in release.items()]
    if rng.random() < 0.1:
        files = [_packed(rng, name, data) for name, data in files]
    return Case(tuple(files), _TIGHT if rng.random() < 0.1 else DEFAULT_LIMITS, detected=rng.random() < 0.05)


def judge(case: Case, reader: str) -> str:
    """Read a case. Return `parsed` or `refused`; whatever else happens is raised."""
    source = Source.of_files("made", [InputFile.from_bytes(name, data, case.limits) for name, data in case.files])
    try:
        found = readers.detect(source) if case.detected else reader
        for batch in readers.read(source, found):
            _require_sound(batch)
    except OnymError as e:
        str(e)
        return "refused"
    return "parsed"


def work(connection: Connection, current: Any, seed: int) -> None:
    """Run the cases that are asked for, telling of everything else at once; `current[0]` is the case being run."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 2)  # Rust prints its panics
    warnings.simplefilter("error")
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends a process that hangs, even inside of C
    peak = _peak()
    while task := connection.recv():
        reader, start, stop = task
        counts = {"parsed": 0, "refused": 0}
        for number in range(start, stop):
            current[0] = number
            case = make_case(seed, reader, number)
            signal.setitimer(signal.ITIMER_PROF, HANG_S)
            try:
                counts[judge(case, reader)] += 1
            except KeyboardInterrupt:
                raise
            except BaseException as e:  # a panic of Rust is not an Exception
                connection.send((number, " ".join(f"{type(e).__name__}: {e}".split())[:200]))
            signal.setitimer(signal.ITIMER_PROF, 0)
            if _peak() > peak + _GROWTH:
                connection.send((number, f"memory grew from {peak >> 20} to {_peak() >> 20} MB"))
                peak = _peak()
        connection.send((-1, {**counts, "megabytes": _peak() >> 20}))


def replay(seed: int, reader: str, number: int) -> None:
    """Run one case here and say on stderr what happens."""
    case = make_case(seed, reader, number)
    for name, data in case.files:
        print(f"{name}: {data!r}", file=sys.stderr)
    try:
        print(judge(case, reader), file=sys.stderr)
    except BaseException:
        traceback.print_exc()


def _some_files(rng: random.Random, release: Release) -> Release:
    """Leave out files of a large release: every one is read with or without the others."""
    if len(release) < 3:
        return release
    names = rng.sample(sorted(release), rng.choice((1, 1, 2, 2, len(release))))
    return {name: release[name] for name in names}


def _packed(rng: random.Random, name: str, data: bytes) -> tuple[str, bytes]:
    if rng.random() < 0.5:
        name, data = f"{name}.gz", gzip.compress(data, 1, mtime=0)
    else:
        name, data = f"{name}.zst", pa.compress(data, codec="zstd", asbytes=True)
    return name, mutated(rng, data, _OTHERS) if rng.random() < 0.5 else data


def _require_sound(batch: pa.RecordBatch) -> None:
    if not batch.schema.equals(SCHEMA):
        raise ValueError("a batch has another schema")
    batch.validate(full=True)
    if batch.column("concept_id").null_count:
        raise ValueError("a row has no concept_id")


def _peak() -> int:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
