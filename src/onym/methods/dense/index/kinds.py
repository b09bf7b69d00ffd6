"""The kinds of index, and functions that create them. All kinds use the inner product."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from onym.errors import ConfigError, missing_extra


def faiss() -> Any:
    """Import FAISS; raise an error that names the package to install if it is missing.

    >>> faiss().IndexFlatIP(3).d
    3
    """
    try:
        import faiss as library
    except ImportError as e:
        raise missing_extra("an index of vectors", "models") from e
    return library


@contextmanager
def one_thread() -> Iterator[None]:
    """Run FAISS in one thread, because graphs built by several threads are not reproducible.

    OpenMP stores this setting per calling thread, so other threads are not affected.
    """
    library = faiss()
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(1)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


_CODE_BITS = 8
LINKS = 32  # HNSW parameter M: neighbours per vector
_BUILD_EFFORT = 160  # HNSW parameter efConstruction
_POINTS_PER_CENTRE = 39  # minimum number of training vectors per centroid that FAISS recommends
_MAX_LISTS = 65_536
AUTO = "auto"
_MAX_FLAT = 250_000  # maximum number of names for which `auto` chooses `flat`
_PART, _MAX_PARTS = 100_000, 4  # minimum number of names per part, maximum number of parts


@dataclass(frozen=True, slots=True)
class IndexKind:
    """A kind of index. `make` creates an empty index for vectors of a given width and number.

    If `is_streamed`, the file consists of a header and the code of each vector, so that it can be written without holding the
    index in memory. `sample` is the number of training vectors; 0 means no training. If `is_in_parts`, the index consists of
    several FAISS indexes, each built by one thread to be reproducible. If `is_refined`, the fp16 vectors are stored too: a
    search retrieves more names than requested and reranks them by these vectors. If `group` is not 0, the index has inverted
    lists of product-quantized codes, with one byte for `group` dimensions.
    """

    name: str
    fourcc: bytes
    make: Callable[[int, int], Any]
    is_streamed: bool = True
    sample: int = 0
    is_in_parts: bool = False
    is_refined: bool = False
    group: int = 0

    @property
    def is_in_lists(self) -> bool:
        """Whether the index has inverted lists. A search reads only the lists nearest to the query."""
        return self.group > 0


def find_kind(name: str) -> IndexKind:
    """Return the kind with this name.

    >>> find_kind("flat").is_streamed
    True
    """
    if name not in KINDS:
        raise ConfigError("index-unknown", f"{name!r} is not a kind of index", fix=f"choose one of {', '.join((AUTO, *KINDS))}")
    return KINDS[name]


def kind_for(name: str, names: int) -> IndexKind:
    """Return the kind with this name. For `auto`, return the kind that is recommended for this number of names.

    >>> [kind_for("auto", names).name for names in (1_000, 250_000, 1_000_000)], kind_for("sq8", 1_000).name
    (['flat', 'flat', 'hnsw'], 'sq8')
    """
    if name != AUTO:
        return find_kind(name)
    # Exhaustive search is exact and needs no training or tuning. With 250,000 names, two cores link about 200 mentions per
    # second. With more names, exhaustive search takes too much time and memory. HNSW over 8-bit codes compares only a few
    # thousand vectors per query, and has the best recall of the approximate kinds.
    return KINDS["flat" if names <= _MAX_FLAT else "hnsw"]


def compact_kind(names: int) -> str:
    """Return the most compact kind for this number of names: `pq` if there are enough names to train it, else `sq8`.

    >>> compact_kind(9_000), compact_kind(10_000)
    ('sq8', 'pq')
    """
    return "pq" if code_bits(names) == _CODE_BITS else "sq8"


def parts_for(kind: IndexKind, names: int) -> int:
    """Return the number of parts of an index.

    >>> [parts_for(KINDS["hnsw"], names) for names in (0, 199_999, 200_000, 6_000_000)], parts_for(KINDS["flat"], 6_000_000)
    ([1, 1, 2, 4], 1)
    """
    return max(1, min(_MAX_PARTS, names // _PART)) if kind.is_in_parts else 1


def lists_of(count: int) -> int:
    """Return the number of lists of `ivfpq` and `pq`: 4 * sqrt(count), as FAISS recommends, or fewer for few vectors.

    >>> [lists_of(count) for count in (3, 10_000, 1_000_000, 6_000_000)]
    [1, 256, 4000, 9797]
    """
    return max(1, min(int(4 * math.sqrt(count)), count // _POINTS_PER_CENTRE, _MAX_LISTS))


def code_bits(count: int) -> int:
    """Return the bits per code of `ivfpq` and `pq`: 8, or fewer if there are too few vectors to train 256 centroids.

    >>> [code_bits(count) for count in (1, 8, 500, 10_000)]
    [1, 1, 3, 8]
    """
    return max(1, min(_CODE_BITS, int(math.log2(max(2, count / _POINTS_PER_CENTRE)))))


def codes_per_vector(width: int, group: int) -> int:
    """Return the number of codes per vector: the largest divisor of `width` that is at most `width / group`.

    >>> [codes_per_vector(width, 4) for width in (384, 768, 10, 7)], codes_per_vector(384, 8)
    ([96, 192, 2, 1], 48)
    """
    return next(codes for codes in range(max(1, width // group), 0, -1) if width % codes == 0)


def _flat(width: int, _count: int) -> Any:
    return faiss().IndexFlatIP(width)


def _half(width: int, _count: int) -> Any:
    library = faiss()
    return library.IndexScalarQuantizer(width, library.ScalarQuantizer.QT_fp16, library.METRIC_INNER_PRODUCT)


def _bytes(width: int, _count: int) -> Any:
    library = faiss()
    return library.IndexScalarQuantizer(width, library.ScalarQuantizer.QT_8bit, library.METRIC_INNER_PRODUCT)


def _graph(width: int, _count: int) -> Any:
    library = faiss()
    index = library.IndexHNSWSQ(width, library.ScalarQuantizer.QT_8bit, LINKS, library.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = _BUILD_EFFORT
    return index


def _lists(width: int, count: int, group: int) -> Any:
    library = faiss()
    lists, codes, bits = lists_of(count), codes_per_vector(width, group), code_bits(count)
    index = library.IndexIVFPQ(library.IndexFlatIP(width), width, lists, codes, bits, library.METRIC_INNER_PRODUCT)
    for clustering in (index.cp, index.pq.cp):
        clustering.min_points_per_centroid = 1  # avoids FAISS's warning on stderr for small vocabularies
    return index


def _in_lists(name: str, group: int, *, is_refined: bool) -> IndexKind:
    make = partial(_lists, group=group)
    return IndexKind(name, b"IwPQ", make, is_streamed=False, sample=400_000, is_refined=is_refined, group=group)


KINDS = {
    kind.name: kind
    for kind in (
        IndexKind("flat", b"IxFI", _flat),
        IndexKind("flat16", b"IxSQ", _half),
        IndexKind("sq8", b"IxSQ", _bytes, sample=65_536),
        IndexKind("hnsw", b"IHNs", _graph, is_streamed=False, sample=65_536, is_in_parts=True, is_refined=True),
        _in_lists("ivfpq", group=4, is_refined=True),
        _in_lists("pq", group=8, is_refined=False),
    )
}
"""`flat` is exact. `flat16` and `sq8` also compare every vector, with 2 and 1 bytes per component. `hnsw` (graph) and `ivfpq`
(inverted lists) are approximate. `pq` is `ivfpq` with smaller codes and without the vectors: the most compact kind, whose
scores are approximate too."""
