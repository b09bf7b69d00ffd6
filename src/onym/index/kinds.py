"""The kinds of index, and how each is made. All of them find by the largest inner product."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from onym.errors import ConfigError, missing_extra


def faiss() -> Any:
    """Return the library, or tell what has to be installed.

    >>> faiss().IndexFlatIP(3).d
    3
    """
    try:
        import faiss as library
    except ImportError as e:
        raise missing_extra("an index of vectors", "dense") from e
    return library


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS compute in one thread: a graph that several threads build is another one each time.

    OpenMP keeps this number for each thread that calls it: what other threads compute meanwhile is not affected.
    """
    library = faiss()
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(1)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


_CODE_BITS = 8
LINKS = 32  # of a vector in the graph
_BUILD_EFFORT = 160  # candidates looked at for the links of a vector
_POINTS_PER_CENTRE = 39  # what FAISS wants to see for each centre that it learns
_MAX_LISTS = 65_536
AUTO = "auto"
_MAX_FLAT = 250_000  # names
_PART, _MAX_PARTS = 100_000, 4  # names of a part at least, and parts


@dataclass(frozen=True, slots=True)
class IndexKind:
    """A kind of index. `make` takes the width of the vectors and how many there will be.

    The file of a `is_streamed` kind is a short head and then the code of each vector: it is written without being held in
    memory. `sample` is how many vectors it learns from, 0 where it has nothing to learn. An index that `is_in_parts` is several
    ones, each built by one thread: several threads would build another one each time. With `is_refined`, every vector is kept
    with the index in 2 bytes a number: more names are found than are wanted, and the best of them by those vectors are the
    answer. One with a `group` divides the vectors into lists of codes, and a byte of a code stands for so many dimensions.
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
        """Whether vectors are in lists, of which a search looks into some."""
        return self.group > 0


def find_kind(name: str) -> IndexKind:
    """Return the kind of that name.

    >>> find_kind("flat").is_streamed
    True
    """
    if name not in KINDS:
        raise ConfigError(
            "index-unknown", f"no kind of index is named {name!r}", fix=f"the kinds are {', '.join((AUTO, *KINDS))}"
        )
    return KINDS[name]


def kind_for(name: str, names: int) -> IndexKind:
    """Return the kind of that name; for `auto` the one that is advised for so many names.

    >>> [kind_for("auto", names).name for names in (1_000, 250_000, 1_000_000)], kind_for("sq8", 1_000).name
    (['flat', 'flat', 'hnsw'], 'sq8')
    """
    if name != AUTO:
        return find_kind(name)
    # Looking at every vector is exact and there is nothing to learn or to tune; among 250,000 names two cores answer some 200
    # mentions a second. Beyond that it is time and memory that decide: graphs over one byte a number look at some thousand
    # vectors only, and of the kinds that may miss a name they miss the fewest.
    return KINDS["flat" if names <= _MAX_FLAT else "hnsw"]


def compact_kind(names: int) -> str:
    """Return the kind that is small for so many names: `pq` where there are enough of them to learn its codes from.

    >>> compact_kind(9_000), compact_kind(10_000)
    ('sq8', 'pq')
    """
    return "pq" if code_bits(names) == _CODE_BITS else "sq8"


def parts_for(kind: IndexKind, names: int) -> int:
    """Return of how many parts an index is.

    >>> [parts_for(KINDS["hnsw"], names) for names in (0, 199_999, 200_000, 6_000_000)], parts_for(KINDS["flat"], 6_000_000)
    ([1, 1, 2, 4], 1)
    """
    return max(1, min(_MAX_PARTS, names // _PART)) if kind.is_in_parts else 1


def lists_of(count: int) -> int:
    """Return into how many lists `ivfpq` and `pq` divide the vectors: 4 times the root, as FAISS advises, but few for few.

    >>> [lists_of(count) for count in (3, 10_000, 1_000_000, 6_000_000)]
    [1, 256, 4000, 9797]
    """
    return max(1, min(int(4 * math.sqrt(count)), count // _POINTS_PER_CENTRE, _MAX_LISTS))


def code_bits(count: int) -> int:
    """Return the bits of one code of `ivfpq` and `pq`: 8, and fewer where there are too few vectors to learn 256 centres.

    >>> [code_bits(count) for count in (1, 8, 500, 10_000)]
    [1, 1, 3, 8]
    """
    return max(1, min(_CODE_BITS, int(math.log2(max(2, count / _POINTS_PER_CENTRE)))))


def codes_per_vector(width: int, group: int) -> int:
    """Return how many codes there are for a vector: about one for each group of dimensions, and a divisor of the width.

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
        clustering.min_points_per_centroid = 1  # small vocabularies are no reason to warn on stderr
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
"""`flat` is exact; `flat16` and `sq8` look at every vector too, in 2 and 1 bytes for a number; `hnsw` walks a graph, and
`ivfpq` looks into lists of codes: both may miss a name. `pq` is `ivfpq` in smaller codes and without the vectors: the smallest,
whose scores are those of the codes."""
