"""One case of fuzzing: a corpus with one damaged piece, read to its end in memory."""

from __future__ import annotations

import gzip
import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa

from benchmarks.corpora.samples import Piece, sample
from benchmarks.fuzz.mutation import BINARY, mutated
from benchmarks.fuzz.worker import Suite
from onym.corpora.base import documents_of
from onym.corpora.formats import ORDER
from onym.corpora.isolation import INTERNAL
from onym.corpora.reading import Reading
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.types import Document, Problem

Said = tuple[object, ...]
BYSTANDERS, LOST = "bystanders", "bystanders_lost"
_PACKED = (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd")
_SMALL = replace(DEFAULT_LIMITS, document_bytes=2_000, json_item_bytes=2_000, xml_record_bytes=4_000)
"""Limits that every honest document of a sample is well within."""


@dataclass(frozen=True)
class Case:
    """What is read, and which documents must be found in it."""

    files: tuple[tuple[str, bytes], ...]
    limits: Limits
    bystanders: frozenset[int]
    is_named: bool


def make_case(seed: int, reader: str, number: int) -> Case:
    """Return the case of this number; always the same one."""
    rng = random.Random(f"{seed}:{reader}:{number}")
    corpus = sample(reader)
    piece = rng.choice(corpus.pieces)
    files = dict(corpus.files)
    files[piece.file] = _damaged(rng, files[piece.file], piece, reader)
    is_packed, is_named = rng.random() < 0.1, rng.random() < 0.8
    if is_packed:
        name, data = _packed(rng, piece.file, files.pop(piece.file))
        files[name] = data
    # What is packed, or begins as if it were, fails as one file; and an unnamed format is recognised by how a file begins.
    is_whole = is_packed or not is_named or files[piece.file].startswith(_PACKED)
    hurt = corpus.in_file(piece.file) if is_whole else piece.documents
    limits = _SMALL if rng.random() < 0.1 else DEFAULT_LIMITS
    return Case(tuple(files.items()), limits, frozenset(range(corpus.documents)) - hurt, is_named)


def judge(case: Case, reader: str) -> dict[str, int]:
    """Read a case and count the documents that stood beside the damaged one; whatever else happens is raised."""
    files = [InputFile.from_bytes(name, data, case.limits) for name, data in case.files]
    items = list(Reading([Source.of_files("made", files)], reader if case.is_named else ""))
    for item in items:
        if isinstance(item, Problem) and item.code == INTERNAL:
            raise RuntimeError(item.what)
    read = Counter(map(_says, documents_of(items)))
    honest = _honest(reader)
    lost = sum(any(not read[said] for said in honest[number]) for number in case.bystanders)
    return {"cases": 1, BYSTANDERS: len(case.bystanders), LOST: lost}


def judged(seed: int, reader: str, number: int) -> dict[str, int]:
    """Make and read a case, and count what came of it."""
    return judge(make_case(seed, reader, number), reader)


def files_of(seed: int, reader: str, number: int) -> dict[str, bytes]:
    """Return the files of a case."""
    return dict(make_case(seed, reader, number).files)


@cache
def _honest(reader: str) -> tuple[tuple[Said, ...], ...]:
    """Return what each document says when nothing is damaged; some formats make a document of each of its mentions."""
    corpus = sample(reader)
    files = [InputFile.from_bytes(name, data) for name, data in corpus.files.items()]
    said = [_says(doc) for doc in documents_of(Reading([Source.of_files("made", files)], reader))]
    each = len(said) // corpus.documents
    if not each or len(said) % corpus.documents:
        sys.exit(f"{reader} does not read its own sample")
    return tuple(tuple(said[start : start + each]) for start in range(0, len(said), each))


def _says(document: Document) -> Said:
    return document.text, tuple((each.start, each.end, each.type, each.concept_ids) for each in document.mentions)


def _damaged(rng: random.Random, data: bytes, piece: Piece, reader: str) -> bytes:
    part = data[piece.start : piece.end]
    if reader == "docbin" and rng.random() < 0.8:  # else the checksum of what is packed tells all
        part = zlib.compress(rng.choice(BINARY)(rng, zlib.decompress(part), _OTHERS))
    else:
        part = rng.choice(BINARY)(rng, part, _OTHERS) if reader in ("parquet", "docbin") else mutated(rng, part, _OTHERS)
    return data[: piece.start] + part + data[piece.end :]


def _packed(rng: random.Random, name: str, data: bytes) -> tuple[str, bytes]:
    packed = gzip.compress(data, 1, mtime=0) if rng.random() < 0.5 else pa.compress(data, codec="zstd", asbytes=True)
    suffix = ".gz" if packed.startswith(b"\x1f\x8b") else ".zst"
    return name + suffix, mutated(rng, packed, _OTHERS) if rng.random() < 0.5 else packed


def _pieces() -> Iterator[bytes]:
    for reader in ORDER:
        for piece in sample(reader).pieces[:4]:
            yield sample(reader).files[piece.file]


_OTHERS = list(_pieces())
SUITE = Suite(judged, files_of)
