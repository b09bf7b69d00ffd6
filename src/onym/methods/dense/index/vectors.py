"""Stores the embeddings of all names of a knowledge base, from which indexes of any kind are built.

Names are encoded in shards, so that an interrupted build resumes at the current shard. For a new release of the knowledge base,
only new names are encoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.store.arrays import Strings, release
from onym.store.artefact import Artefact, Manifest
from onym.store.cache import Verify
from onym.store.derived import Locations, open_derived
from onym.store.stage import Record, Stage, Work
from onym.types import Progress, silent


class VectorSource(Protocol):
    """An encoder. Encoders with the same digest return the same vectors, except for rounding if their precision differs."""

    width: int
    precision: str

    @property
    def digest(self) -> str:
        """A hash that identifies the encoder."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of texts; *shape:* (texts, width)."""


KIND, FORMAT = "vectors", 1
FOLDER = "vectors"
SHARD = 65_536  # names per shard
Rows = npt.NDArray[np.float32]


class VectorsOrigin(BaseModel):
    """The inputs from which vectors were computed. Stored as `config` in their manifest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kb: str
    encoder: str
    precision: str
    names: int = Field(ge=0)
    width: int = Field(ge=1, le=1_000_000)
    shard: int = Field(ge=1)

    @classmethod
    def of(cls, kb: KnowledgeBase, encoder: VectorSource) -> VectorsOrigin:
        """Return the origin of vectors computed with this knowledge base and encoder."""
        return cls(
            kb=kb.digest,
            encoder=encoder.digest,
            precision=encoder.precision,
            names=len(kb.names),
            width=encoder.width,
            shard=SHARD,
        )


class NameVectors:
    """Memory-mapped vectors of names, together with the names."""

    def __init__(self, artefact: Artefact, origin: VectorsOrigin) -> None:
        self.origin = origin
        self.names: Strings = artefact.strings("names")
        self._shards: list[Rows] = []
        for number, start in enumerate(range(0, origin.names, origin.shard)):
            column = artefact.array(_column(number), "f")
            rows = min(origin.shard, origin.names - start)
            if column.dtype != np.float32 or len(column) != rows * origin.width or len(self.names) != origin.names:
                what = "the columns of the vectors have inconsistent lengths or types"
                raise IntegrityError("artefact-corrupt", what, where=str(artefact.folder), fix="rebuild the index")
            self._shards.append(column.reshape(rows, origin.width))

    def __len__(self) -> int:
        return self.origin.names

    def shards(self) -> Iterator[Rows]:
        """Yield the vectors of all names in shards, in order; the memory of each shard is released after use."""
        for shard in self._shards:
            yield shard
            release(shard)

    def rows(self, name_ids: npt.NDArray[np.int64]) -> Rows:
        """Return the vectors of the names with these ids."""
        found = np.empty((len(name_ids), self.origin.width), dtype=np.float32)
        shard_of = name_ids // self.origin.shard
        for number in np.unique(shard_of).tolist():
            is_here = shard_of == number
            found[is_here] = self._shards[number][name_ids[is_here] % self.origin.shard]
            release(self._shards[number])
        return found

    def range(self, start: int, end: int) -> Rows:
        """Return the vectors of names `start` to `end`."""
        return self.rows(np.arange(start, end))

    def sample(self, size: int) -> Rows:
        """Return a deterministic random sample of up to `size` vectors."""
        if len(self) <= size:
            return np.concatenate(self._shards)
        name_ids = np.random.default_rng(0).choice(len(self), size, replace=False)
        return self.rows(np.sort(name_ids))


def open_derived_vectors(kb: KnowledgeBase, encoder: VectorSource, *, progress: Progress = silent) -> NameVectors:
    """Open the vectors stored with a knowledge base; compute them first if they are missing for this release.

    File digests are always verified, because an index built from these vectors counts as verified.
    """
    origin = VectorsOrigin.of(kb, encoder)
    return open_derived(
        _locations(kb, origin),
        lambda path: open_vectors(path, origin, verify="full"),
        lambda stage, dest: write_vectors(stage, dest, kb, encoder, progress=progress),
        waiting=lambda: progress("waiting for another process that encodes the names", 0),
    )


def open_vectors(folder: Path, expected: VectorsOrigin | None = None, *, verify: Verify = "once") -> NameVectors:
    """Open vectors; raise IntegrityError if their origin is not `expected`.

    File digests are verified on first use on a machine or, with `verify="full"`, on every call.
    """
    artefact = Artefact.open(folder, KIND, FORMAT, verify)
    where = str(artefact.folder.parent)
    try:
        origin = VectorsOrigin.model_validate(artefact.manifest.config, strict=True)
    except ValidationError as e:
        what = "the manifest has an invalid description of the vectors"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="rebuild the index") from e
    if expected is not None and origin != expected:
        what = "the vectors were computed for another knowledge base or encoder"
        raise IntegrityError("index-mismatch", what, where=where, fix="build the index again with onym index build")
    vectors = NameVectors(artefact, origin)
    if artefact.is_new_here:
        vectors.names.require_sound("names")
        artefact.remember()
    return vectors


def write_vectors(stage: Stage, dest: Path, kb: KnowledgeBase, encoder: VectorSource, *, progress: Progress) -> Manifest:
    """Encode the names, reusing vectors of an earlier release, and publish the vectors from a locked stage."""
    kb.require_intact()
    origin = VectorsOrigin.of(kb, encoder)
    known = _EarlierVectors.at(dest, origin, kb.names)
    work = Work(dest / ".work", [origin.model_dump_json()])
    progress(f"encoding names, {known.count:,} of them reused", 0)
    for number, start in enumerate(range(0, origin.names, SHARD)):
        rows = min(SHARD, origin.names - start)
        column = work.piece(_column(number), "<f4", rows * origin.width)
        if column is None:
            column = _encode_shard(kb.names, start, rows, encoder, known).reshape(-1)
            work.keep(_column(number), column)
        stage.write_array(_column(number), column)
        progress("encoding names", start + rows)
    stage.write_strings("names", kb.names)
    manifest = stage.publish(dest, KIND, FORMAT, Record(origin.model_dump(mode="json"), [], {"names": origin.names}))
    work.remove()
    return manifest


def _encode_shard(names: Strings, start: int, rows: int, encoder: VectorSource, known: _EarlierVectors) -> Rows:
    """Return the vectors of one shard. Vectors of an earlier release are copied; the other names are encoded."""
    earlier = known.rows[start : start + rows]
    is_known = earlier >= 0
    found = np.empty((rows, encoder.width), dtype=np.float32)
    if known.vectors is not None and is_known.any():
        found[is_known] = known.vectors.rows(earlier[is_known])
    missing = np.flatnonzero(~is_known)
    if len(missing):
        found[missing] = encoder.encode([names[start + row] for row in missing.tolist()])
    return found


class _EarlierVectors:
    """The vectors of an earlier release, and for each current name its row in these vectors, or -1."""

    def __init__(self, vectors: NameVectors | None, rows: npt.NDArray[np.int64]) -> None:
        self.vectors, self.rows = vectors, rows
        self.count = int((rows >= 0).sum())

    @classmethod
    def at(cls, dest: Path, origin: VectorsOrigin, names: Strings) -> _EarlierVectors:
        """Open the vectors at `dest`; use them only if they were computed by the same encoder in the same precision."""
        try:
            vectors = open_vectors(dest, verify="full")
        except IntegrityError:
            return cls(None, np.full(len(names), -1, dtype=np.int64))
        same = (vectors.origin.encoder, vectors.origin.precision, vectors.origin.width)
        if same != (origin.encoder, origin.precision, origin.width):
            return cls(None, np.full(len(names), -1, dtype=np.int64))
        return cls(vectors, _rows_in(vectors.names, names))


def _rows_in(earlier: Strings, names: Strings) -> npt.NDArray[np.int64]:
    """Return, for each name, its row in `earlier`, or -1 if it is missing there. Vectorised with Arrow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.large_utf8()
    found = pc.index_in(names.to_arrow().cast(kind), value_set=earlier.to_arrow().cast(kind))
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _locations(kb: KnowledgeBase, origin: VectorsOrigin) -> Locations:
    """Return the locations of the vectors: in the knowledge base folder (for all releases) or in the cache (per release)."""
    own, _ = Locations.of(kb.folder.parent, FOLDER, [origin.encoder, origin.precision])
    _, cached = Locations.of(kb.folder.parent, FOLDER, [origin.kb, origin.encoder, origin.precision])
    return Locations(own, cached)


def _column(number: int) -> str:
    return f"vectors-{number:05d}"
