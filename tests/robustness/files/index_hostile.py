"""Open damaged and forged index files, and check that they are rejected before FAISS reads a byte.

files             files of all kinds: damaged ones whose digests no longer match (bits flipped; pieces removed, repeated,
                  swapped, inserted, cut off), edited manifests, and forged files with recomputed digests, which only a
                  validation of the structure can reject
refused           files rejected by an error with a code before FAISS was called; the suite fails unless it equals `files`
forged            files whose digests match
bodies            forged files whose structure is valid: only components of vectors, neighbours in a graph or members of lists
                  differ. They may be read or rejected, and are not counted in `files`
bodies_read       number of `bodies` that were read and searched
bodies_outside    number of `bodies` whose search returned an invalid name id, or raised an exception other than OnymError; the
                  suite fails unless this is 0
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.big_kb import kb_of_numbers
from benchmarks.vectors import Drawn

from onym.errors import OnymError
from onym.methods.dense.index import KINDS, artefact, build_index, open_index
from onym.methods.dense.index.artefact import FILE, VECTORS
from tests.robustness.files.mutation import BINARY

SEED, NAMES, WIDTH, K = 13, 200, 16, 5
_SIZES = (0, 1, 2, 2**7, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**33, 2**62, 2**63, 2**64 - 1)
_HEAD = 37
_FREE_OF_HEAD = range(16, 32)  # offsets of two numbers in the header that FAISS ignores


@dataclass(frozen=True)
class Good:
    """A valid index: file, vectors (if the kind stores them), manifest, and `free`, the offsets where any byte is valid."""

    kind: str
    data: bytes
    vectors: bytes
    manifest: dict[str, Any]
    free: frozenset[int]


@dataclass(frozen=True)
class Hostile:
    """The content of a folder: the manifest's bytes, the file, and the version's name."""

    manifest: bytes
    data: bytes
    vectors: bytes
    version: str
    is_forged: bool
    is_body: bool = False


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=0, help="files to be rejected (default: 10,000, or 200 with --quick)")
    parser.add_argument("--seed", type=int, default=SEED)


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.files or (200 if options.quick else 10_000)
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, ONYM_CACHE=f"{folder}/cache"), _count_reads() as reads:
        found = judge_files(goods(Path(folder)), Path(folder) / "hostile", random.Random(options.seed), count, reads)
    if found["refused"] != count or found["bodies_outside"]:
        sys.exit(f"not all hostile files were rejected: {dict(found)}")
    keys = ("files", "refused", "forged", "bodies", "bodies_read", "bodies_outside")
    return {**{key: found[key] for key in keys}, "kinds": len(KINDS)}


def judge_files(good: list[Good], base: Path, rng: random.Random, count: int, reads: list[int]) -> Counter[str]:
    """Open hostile files until `count` files that must be rejected were opened."""
    found: Counter[str] = Counter()
    wanted = Drawn(WIDTH).encode(["a", "b", "c"])
    for number, hostile in enumerate(_iter_hostile(rng, good)):
        if found["files"] == count:
            return found
        folder, reads[0] = base / str(number), 0
        _write(folder, hostile)
        outcome = _outcome(folder, wanted)
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        if hostile.is_body:
            found.update(("bodies", f"bodies_{outcome}"))
            continue
        found["files"] += 1
        found["forged"] += hostile.is_forged
        found["refused"] += outcome == "refused" and not reads[0]
    return found


def _outcome(folder: Path, wanted: Any) -> str:
    """Return the outcome: refused, read, or a defect."""
    try:
        _, ids = open_index(folder).search(wanted, K)
    except OnymError:
        return "refused"
    except Exception as e:  # any other exception counts as a defect
        print(f"{type(e).__name__} of {folder}", file=sys.stderr)
        return "outside"
    return "read" if ids.min() >= -1 and ids.max() < NAMES else "outside"


def goods(folder: Path) -> list[Good]:
    """Build an index of each kind."""
    kb = kb_of_numbers(folder / "kb", NAMES)
    found = []
    for kind in KINDS:
        manifest = build_index(kb, Drawn(WIDTH), folder / kind, kind)
        data = next((folder / kind).glob(f"*/{FILE}")).read_bytes()
        vectors = next((path.read_bytes() for path in (folder / kind).glob(f"*/{VECTORS}")), b"")
        found.append(Good(kind, data, vectors, manifest.model_dump(mode="json"), free_bytes(kind, data)))
    return found


def _iter_hostile(rng: random.Random, good: list[Good]) -> Iterator[Hostile]:
    makers: tuple[Callable[[random.Random, Good, list[bytes]], Hostile], ...] = (
        *(_tear_file, _edit_manifest, _forge_file, _forge_file, _other_vectors),
    )
    others = [each.data for each in good]
    while True:
        for each in good:
            hostile = rng.choice(makers)(rng, each, others)
            if (hostile.data, hostile.vectors, hostile.manifest) != (each.data, each.vectors, _write_manifest(each.manifest)):
                yield hostile


def _tear_file(rng: random.Random, good: Good, others: list[bytes]) -> Hostile:
    """Damage only the index file."""
    manifest = _write_manifest(good.manifest)
    return Hostile(manifest, _damage_bytes(rng, good.data, others), good.vectors, _version(manifest), is_forged=False)


def _other_vectors(rng: random.Random, good: Good, others: list[bytes]) -> Hostile:
    """Damage the vectors stored next to the file; recompute all digests in half of the cases."""
    vectors, is_forged = _damage_bytes(rng, good.vectors, others) if good.vectors else b"", rng.random() < 0.5
    manifest = _write_manifest(_with_file(good, VECTORS, vectors) if good.vectors and is_forged else good.manifest)
    is_body = is_forged and len(vectors) == len(good.vectors)
    return Hostile(manifest, good.data, vectors, _version(manifest), is_forged, is_body)


def _edit_manifest(rng: random.Random, good: Good, _others: list[bytes]) -> Hostile:
    """Edit the manifest; rename the version to match in half of the cases."""
    edited = json.loads(json.dumps(good.manifest))
    config, entry = edited["config"], edited["files"][FILE]
    number = rng.choice([-1, *_SIZES])
    edits: list[Callable[[], Any]] = [
        lambda: config.update(names=number if number != NAMES else 0),
        lambda: config.update(width=number if number != WIDTH else 0),
        lambda: config.update(kind=rng.choice([kind for kind in (*KINDS, "magic", "") if kind != good.kind])),
        lambda: config.update(metric="l2"),
        lambda: config.update(more=1),
        lambda: config.pop(rng.choice(list(config))),
        lambda: config.update({rng.choice(list(config)): None}),
        lambda: entry.update(bytes=number),
        lambda: entry.update(sha256=rng.randbytes(32).hex()),
        lambda: entry.update(dtype="<f4", length=number),
        lambda: edited["files"].update({"../evil": entry}),
        lambda: edited["files"].pop(FILE),
        lambda: edited.update(kind="trie"),
        lambda: edited.update(format=number if number != edited["format"] else 0),
    ]
    rng.choice(edits)()
    manifest, is_forged = _write_manifest(edited), rng.random() < 0.5
    version = _version(manifest if is_forged else _write_manifest(good.manifest))
    return Hostile(manifest, good.data, good.vectors, version, is_forged)


def _forge_file(rng: random.Random, good: Good, others: list[bytes]) -> Hostile:
    """Change the file, mostly a number before or between its vectors, and recompute all digests."""
    data = _damage_bytes(rng, good.data, others) if rng.random() < 0.4 else _edit_number(rng, good)
    manifest = _write_manifest(_with_file(good, FILE, data))
    is_body = len(data) == len(good.data) and _differing(data, good.data) <= good.free
    return Hostile(manifest, data, good.vectors, _version(manifest), is_forged=True, is_body=is_body)


def _with_file(good: Good, name: str, data: bytes) -> dict[str, Any]:
    """Return the manifest updated with the digest of the changed file."""
    edited: dict[str, Any] = json.loads(json.dumps(good.manifest))
    edited["files"][name] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return edited


def _damage_bytes(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(BINARY)(rng, data, others)
    return data


def _edit_number(rng: random.Random, good: Good) -> bytes:
    """Overwrite 4 or 8 bytes of the file with another number, mostly outside the vectors."""
    data = bytearray(good.data)
    matters = [at for at in range(len(data) - 8) if at not in good.free]
    at = rng.choice(matters) if rng.random() < 0.8 else rng.randrange(len(data) - 8)
    if rng.random() < 0.3:
        data[at] ^= 1 << rng.randrange(8)
    elif rng.random() < 0.5:
        struct.pack_into("<I", data, at, rng.choice(_SIZES) & 0xFFFFFFFF)
    else:
        struct.pack_into("<Q", data, at, rng.choice(_SIZES))
    return bytes(data)


def free_bytes(kind: str, data: bytes) -> frozenset[int]:
    """Return the offsets of all bytes of a file for which every value is valid."""
    ways = {"flat": _of_flat, "flat16": _of_codes, "sq8": _of_codes, "hnsw": _of_graph, "ivfpq": _of_lists, "pq": _of_lists}
    spans = ways[kind](data, 0)
    return frozenset(at for start, end in spans for at in range(start, end))


Spans = list[tuple[int, int]]


def _of_flat(data: bytes, start: int) -> Spans:
    return [_head(start), (start + _HEAD + 8, start + _HEAD + 8 + 4 * _number(data, start + _HEAD))]


def _of_codes(data: bytes, start: int) -> Spans:
    learnt = start + _HEAD + 28
    codes = learnt + 8 + 4 * _number(data, learnt)
    return [_head(start), (learnt + 8, codes), (codes + 8, codes + 8 + _number(data, codes))]


def _of_graph(data: bytes, start: int) -> Spans:
    """Return the byte ranges of the level probabilities (approximate), the neighbours, and three search parameters."""
    spans, at = [_head(start)], start + _HEAD
    for item, is_free in ((8, True), (4, False), (4, False), (8, False), (4, True)):
        end = at + 8 + item * _number(data, at)
        spans += [(at + 8, end)] if is_free else []
        at = end
    return [*spans, (at + 8, at + 20), *_of_codes(data, at + 20)]


def _of_lists(data: bytes, start: int) -> Spans:
    """Return the byte ranges of nprobe, the centroids, the codebooks, and the codes and ids."""
    probed = start + _HEAD + 8
    quantizer = _of_flat(data, probed + 8)
    product = quantizer[-1][1] + 9 + 1 + 8 + 24
    lists = product + 8 + 4 * _number(data, product)
    sizes = lists + 4 + 16 + 4
    return [
        _head(start),
        (probed, probed + 8),
        *quantizer,
        (product + 8, lists),
        (sizes + 8 + 8 * _number(data, sizes), len(data)),
    ]


def _head(start: int) -> tuple[int, int]:
    return start + _FREE_OF_HEAD.start, start + _FREE_OF_HEAD.stop


def _number(data: bytes, at: int) -> int:
    return int(struct.unpack_from("<Q", data, at)[0])


def _differing(one: bytes, other: bytes) -> set[int]:
    return set(np.flatnonzero(np.frombuffer(one, np.uint8) != np.frombuffer(other, np.uint8)).tolist())


def _write_manifest(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, sort_keys=True, indent=1, ensure_ascii=True).encode() + b"\n"


def _version(manifest: bytes) -> str:
    return hashlib.sha256(manifest).hexdigest()[:16]


def _write(folder: Path, hostile: Hostile) -> None:
    """Write an artefact as on a machine that has not verified it yet."""
    version = folder / hostile.version
    version.mkdir(parents=True)
    (folder / "CURRENT").write_text(hostile.version + "\n")
    (version / "manifest.json").write_bytes(hostile.manifest)
    (version / FILE).write_bytes(hostile.data)
    if hostile.vectors:
        (version / VECTORS).write_bytes(hostile.vectors)


@contextmanager
def _count_reads() -> Iterator[list[int]]:
    """Count how often FAISS is called to read a file."""
    own, reads = artefact._read, [0]

    def read(*words: Any) -> Any:
        reads[0] += 1
        return own(*words)

    artefact._read = read  # type: ignore[assignment]
    try:
        yield reads
    finally:
        artefact._read = own
