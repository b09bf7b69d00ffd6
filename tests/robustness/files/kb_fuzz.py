"""Fuzz the terminology readers: each mutated release must be parsed, or rejected by an error with a code.

readers          number of formats
cases            number of mutated releases
cases_per_reader number of mutated releases per format
other_outcomes   cases with another outcome: another exception, a hang of 5 s, a crash, or memory growth of 256 MB

Other outcomes are reported on stderr with a number that `--replay reader:number` runs again.
"""

from __future__ import annotations

import argparse
import gzip
import random
from dataclasses import dataclass, fields

import pyarrow as pa

from onym.errors import OnymError
from onym.kb import readers
from onym.kb.schema import SCHEMA
from onym.registry import READERS
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS, Limits
from tests.robustness.files.fuzz import OTHER, Suite, add_fuzz_options, fuzz
from tests.robustness.files.mutation import mutate
from tests.support.releases import SAMPLES, Release

_TIGHT = Limits(**{limit.name: min(max(1, getattr(DEFAULT_LIMITS, limit.name) // 10), 300) for limit in fields(Limits)})
_OTHERS = [data for releases in SAMPLES.values() for release in releases for data in release.values()]


@dataclass(frozen=True)
class Case:
    """The files to read, and the options for reading them."""

    files: tuple[tuple[str, bytes], ...]
    limits: Limits
    detected: bool


def make_case(seed: int, reader: str, number: int) -> Case:
    """Return the case with this number (deterministic)."""
    rng = random.Random(f"{seed}:{reader}:{number}")
    release = _some_files(rng, rng.choice(SAMPLES[reader]))
    victim = rng.choice(list(release))
    files = [(name, mutate(rng, data, _OTHERS) if name == victim else data) for name, data in release.items()]
    if rng.random() < 0.1:
        files = [_pack_file(rng, name, data) for name, data in files]
    return Case(tuple(files), _TIGHT if rng.random() < 0.1 else DEFAULT_LIMITS, detected=rng.random() < 0.05)


def judge(case: Case, reader: str) -> str:
    """Read a case. Return `parsed` or `refused`; any other exception propagates."""
    source = Source.of_files("made", [InputFile.from_bytes(name, data, case.limits) for name, data in case.files])
    try:
        found = readers.detect(source) if case.detected else reader
        for batch in readers.read(source, found):
            _require_sound(batch)
    except OnymError as e:
        str(e)
        return "refused"
    return "parsed"


def judge_case(seed: int, reader: str, number: int) -> dict[str, int]:
    """Make and read a case, and return its counts."""
    return {judge(make_case(seed, reader, number), reader): 1}


def files_of(seed: int, reader: str, number: int) -> dict[str, bytes]:
    """Return the files of a case."""
    return dict(make_case(seed, reader, number).files)


def _some_files(rng: random.Random, release: Release) -> Release:
    """Drop some files of a large release, because each file can be read without the others."""
    if len(release) < 3:
        return release
    names = rng.sample(sorted(release), rng.choice((1, 1, 2, 2, len(release))))
    return {name: release[name] for name in names}


def _pack_file(rng: random.Random, name: str, data: bytes) -> tuple[str, bytes]:
    if rng.random() < 0.5:
        name, data = f"{name}.gz", gzip.compress(data, 1, mtime=0)
    else:
        name, data = f"{name}.zst", pa.compress(data, codec="zstd", asbytes=True)
    return name, mutate(rng, data, _OTHERS) if rng.random() < 0.5 else data


def _require_sound(batch: pa.RecordBatch) -> None:
    if not batch.schema.equals(SCHEMA):
        raise ValueError("a batch has the wrong schema")
    batch.validate(full=True)
    if batch.column("concept_id").null_count:
        raise ValueError("a row has no concept_id")


SUITE = Suite(judge_case, files_of)
UPPER_BOUNDS = {OTHER: 0}


def add_options(parser: argparse.ArgumentParser) -> None:
    add_fuzz_options(parser, READERS.built_in)


def run(options: argparse.Namespace) -> dict[str, object]:
    figures, _ = fuzz(options, __name__)
    return figures
