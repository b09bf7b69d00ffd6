"""The index on disk: one FAISS file per part, and a manifest that identifies the knowledge base and the encoder."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.dense.index.guard import make_stream_head, problem_of
from onym.methods.dense.index.kinds import KINDS, IndexKind, faiss, find_kind, kind_for, one_thread, parts_for
from onym.methods.dense.index.vectors import NameVectors, VectorSource
from onym.store.artefact import Artefact, Manifest
from onym.store.cache import Verify
from onym.store.stage import Record, Stage
from onym.types import Progress

FILE = "index.faiss"
Found = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


class IndexPart(NamedTuple):
    """A part of an index: the range of its names, and its FAISS index."""

    start: int
    end: int
    index: Any = None

    @property
    def names(self) -> int:
        """The number of names in this part."""
        return self.end - self.start


def parts_of(names: int, count: int) -> list[IndexPart]:
    """Divide names into `count` parts of about the same size.

    >>> [(part.start, part.end) for part in parts_of(10, 3)]
    [(0, 3), (3, 6), (6, 10)]
    """
    return [IndexPart(names * number // count, names * (number + 1) // count) for number in range(count)]


def file_of(number: int) -> str:
    """Return the file name of a part.

    >>> file_of(0), file_of(2)
    ('index.faiss', 'index-2.faiss')
    """
    return FILE if number == 0 else f"index-{number}.faiss"


def build_in_parallel(parts: Sequence[IndexPart], build: Callable[[IndexPart], Any], progress: Progress) -> list[IndexPart]:
    """Build the indexes of all parts in parallel, with one thread per core."""

    def build_alone(part: IndexPart) -> IndexPart:
        with one_thread():
            return part._replace(index=build(part))

    done = 0
    built: list[IndexPart] = []
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        for part in pool.map(build_alone, parts):
            built.append(part)
            done += part.names
            progress("building the index", done)
    return built


def merge_found(found: Sequence[Found], k: int) -> Found:
    """Merge the results of all parts into the best k. *Shape:* scores and ids of each part (n, k) -> (n, k)."""
    scores = np.concatenate([each for each, _ in found], axis=1)
    ids = np.concatenate([each for _, each in found], axis=1)
    scores[ids < 0] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)


KIND, FORMAT = "index", 1
VECTORS = "vectors.f16"
_METRIC = "inner-product"
_HALF = np.dtype("<f2")
_PART = 8_192  # vectors added per FAISS call
_READING = threading.Lock()


class IndexOrigin(BaseModel):
    """The inputs from which an index was built, stored as `config` in its manifest. Names were encoded in `precision`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kb: str
    encoder: str
    precision: str
    kind: str
    names: int = Field(ge=0, le=2**32)
    width: int = Field(ge=1, le=1_000_000)
    metric: str

    @classmethod
    def of(cls, kb: KnowledgeBase, encoder: VectorSource, kind: str) -> IndexOrigin:
        """Return the origin of an index built with this knowledge base, encoder and kind, which may be `auto`."""
        return cls(
            kb=kb.digest,
            encoder=encoder.digest,
            precision=encoder.precision,
            kind=kind_for(kind, len(kb.names)).name,
            names=len(kb.names),
            width=encoder.width,
            metric=_METRIC,
        )


def write_index(stage: Stage, dest: Path, origin: IndexOrigin, vectors: NameVectors, *, progress: Progress) -> Manifest:
    """Build an index of the vectors, and publish it from a locked stage."""
    kind = find_kind(origin.kind)
    index = kind.make(origin.width, origin.names)
    if kind.sample:
        progress("training on a sample of the vectors", 0)
        sample = vectors.sample(kind.sample)
        index.train(np.concatenate([sample, sample]) if len(sample) == 1 else sample)  # FAISS needs at least two vectors
    if kind.is_streamed:
        _write_streamed(stage, index, vectors, progress)
    elif kind.is_in_parts:
        _write_parts(stage, _build_parts(index, kind, vectors, progress))
    else:
        _fill(index, vectors, progress)
        progress("writing the index", origin.names)
        _write_parts(stage, [IndexPart(0, origin.names, index)])
    if kind.is_refined:
        with stage.file(VECTORS) as file:
            for shard in vectors.shards():
                file.write(shard.astype(_HALF).tobytes())
    record = Record(origin.model_dump(mode="json"), [], {"names": origin.names})
    return stage.publish(dest, KIND, FORMAT, record)


class IndexArtefact(NamedTuple):
    """An open index: its parts (FAISS objects over memory-mapped files), its origin, and its artefact."""

    parts: tuple[IndexPart, ...]
    origin: IndexOrigin
    artefact: Artefact


def open_index_artefact(folder: Path | str, expected: IndexOrigin | None = None, *, verify: Verify = "once") -> IndexArtefact:
    """Open an index with its artefact.

    Before FAISS reads a file, its manifest, size and structure are checked. This includes every neighbour in a graph, because
    FAISS does not check neighbours before it reads them. `verify` controls when file digests are checked.
    """
    artefact = Artefact.open(Path(folder), KIND, FORMAT, verify)
    where = str(artefact.folder.parent)
    origin = _origin(artefact.manifest, where)
    _require_expected(origin, expected, where)
    found = parts_of(origin.names, parts_for(find_kind(origin.kind), origin.names))
    files = [artefact.map_bytes(file_of(number)) for number in range(len(found))]
    for part, data in zip(found, files, strict=True):
        _require_structure(data, origin, part.names, where, is_new=artefact.is_new_here)
    open_vectors(artefact, origin)
    parts = tuple(part._replace(index=_read(data, origin, part.names, where)) for part, data in zip(found, files, strict=True))
    if artefact.is_new_here:
        artefact.remember()
    return IndexArtefact(parts, origin, artefact)


def open_vectors(artefact: Artefact, origin: IndexOrigin) -> npt.NDArray[np.float16] | None:
    """Return the memory-mapped vectors of an index, or None if its kind stores no vectors. *Shape:* (names, width)."""
    if not find_kind(origin.kind).is_refined:
        return None
    data = artefact.map_bytes(VECTORS)
    if len(data) != origin.names * origin.width * _HALF.itemsize:
        raise _corrupt_error("the number of vectors differs from the number of names", str(artefact.folder.parent))
    return data.view(_HALF).reshape(origin.names, origin.width)


def _write_streamed(stage: Stage, index: Any, vectors: NameVectors, progress: Progress) -> None:
    """Write the header and the codes in FAISS's file format, with at most one shard of vectors in memory."""
    empty: bytes = faiss().serialize_index(index).tobytes()
    item = 4 if empty[:4] == KINDS["flat"].fourcc else 1
    with stage.file(FILE) as file:
        file.write(make_stream_head(empty, len(vectors), index.sa_code_size(), item))
        done = 0
        for shard in vectors.shards():
            file.write(index.sa_encode(np.ascontiguousarray(shard)).tobytes())
            done += len(shard)
            progress("writing the index", done)


def _build_parts(trained: Any, kind: IndexKind, vectors: NameVectors, progress: Progress) -> list[IndexPart]:
    """Build each part with a single `add` call, because FAISS chooses the order in which it inserts a call's vectors."""
    library, empty = faiss(), faiss().serialize_index(trained)

    def build(part: IndexPart) -> Any:
        index = library.deserialize_index(empty)
        index.add(vectors.range(part.start, part.end))
        return index

    return build_in_parallel(parts_of(len(vectors), parts_for(kind, len(vectors))), build, progress)


def _write_parts(stage: Stage, parts: Sequence[IndexPart]) -> None:
    for number, part in enumerate(parts):
        with stage.file(file_of(number)) as file:
            faiss().write_index(part.index, faiss().PyCallbackIOWriter(file.write))


def _fill(index: Any, vectors: NameVectors, progress: Progress) -> None:
    done = 0
    for shard in vectors.shards():
        for start in range(0, len(shard), _PART):
            part = np.ascontiguousarray(shard[start : start + _PART])
            index.add(part)
            done += len(part)
            progress("building the index", done)


def _origin(manifest: Manifest, where: str) -> IndexOrigin:
    try:
        origin = IndexOrigin.model_validate(manifest.config, strict=True)
    except ValidationError as e:
        raise _corrupt_error("the manifest has an invalid description of the index", where) from e
    if origin.kind not in KINDS or origin.metric != _METRIC:
        raise _corrupt_error("the kind of the index is not supported by this version of Onym", where)
    return origin


def _require_expected(found: IndexOrigin, expected: IndexOrigin | None, where: str) -> None:
    """Raise IntegrityError if an index was built from other inputs. A different precision of the encoder is accepted."""
    if expected is None or found.model_copy(update={"precision": expected.precision}) == expected:
        return
    named = {"kb": "knowledge base", "encoder": "encoder", "kind": "kind"}
    other = [name for field, name in named.items() if getattr(found, field) != getattr(expected, field)]
    what = f"the index was built for another {' and another '.join(other or ['number of names or width'])}"
    raise IntegrityError("index-mismatch", what, where=where, fix="build the index again with onym index build")


def _require_structure(data: npt.NDArray[np.uint8], origin: IndexOrigin, names: int, where: str, *, is_new: bool) -> None:
    if problem := problem_of(data, origin.kind, origin.width, names, is_new=is_new):
        raise _corrupt_error(problem, where)


def _read(data: npt.NDArray[np.uint8], origin: IndexOrigin, names: int, where: str) -> Any:
    library = faiss()
    try:
        with _limits(len(data), max(1_000_000, names)):
            index = library.read_index(library.ZeroCopyIOReader(library.swig_ptr(data), len(data)), _flags(library))
    except Exception as e:  # FAISS raises various exceptions for unreadable files
        raise _corrupt_error("FAISS cannot read the file", where) from e
    if (index.d, index.ntotal, index.metric_type) != (origin.width, names, library.METRIC_INNER_PRODUCT):
        raise _corrupt_error("the contents of the index do not match its header", where)
    return index


@contextmanager
def _limits(vector_bytes: int, loops: int) -> Iterator[None]:
    """Set FAISS's deserialisation limits. They are global to the process, so only one thread reads at a time."""
    library = faiss()
    with _READING:
        before = library.get_deserialization_vector_byte_limit(), library.get_deserialization_loop_limit()
        try:
            library.set_deserialization_vector_byte_limit(vector_bytes)
            library.set_deserialization_loop_limit(loops)
            yield
        finally:
            library.set_deserialization_vector_byte_limit(before[0])
            library.set_deserialization_loop_limit(before[1])


def _flags(library: Any) -> int:
    """Return flags to open the index read-only, and to skip tables that only other metrics than inner product need."""
    return int(library.IO_FLAG_READ_ONLY | library.IO_FLAG_SKIP_PRECOMPUTE_TABLE | library.IO_FLAG_PQ_SKIP_SDC_TABLE)


def _corrupt_error(what: str, where: str) -> IntegrityError:
    return IntegrityError("artefact-corrupt", what, where=where, fix="rebuild the index")
