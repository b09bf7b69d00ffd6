"""Searches an index for the names with the largest inner products, and ranks concepts by their nearest names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, names_of, rank_concepts
from onym.methods.dense.index.artefact import (
    IndexArtefact,
    IndexOrigin,
    IndexPart,
    merge_found,
    open_index_artefact,
    open_vectors,
)
from onym.methods.dense.index.kinds import faiss, find_kind
from onym.store.arrays import require_whole_maps
from onym.store.cache import Verify

Scores = npt.NDArray[np.float32]
NameIds = npt.NDArray[np.int64]
_BLOCK = 1_024  # queries per FAISS call
_FEW = 0.1  # if fewer names than this share are allowed, search exhaustively: a graph or lists would miss most of them
_EFFORT = 64  # HNSW parameter efSearch
_PROBED = 32  # parameter nprobe of inverted lists: how many lists a search reads
_REFINED = {"hnsw": 2, "ivfpq": 8}  # names retrieved per requested name, before they are reranked by their vectors
_REFINED_AT_ONCE = 32_768  # vectors read per reranking step


class Index:
    """An open index. Its files are memory-mapped, so that processes share one copy. `search` is thread-safe."""

    def __init__(
        self,
        parts: Sequence[IndexPart],
        origin: IndexOrigin,
        digest: str,
        mapped: object = None,
        vectors: npt.NDArray[np.float16] | None = None,
    ) -> None:
        self.origin, self.digest = origin, digest
        self._parts = parts
        self._mapped = mapped  # a reference to the mapped bytes that FAISS points into, so that they stay mapped
        self._vectors = vectors  # vectors of all names, for reranking; None if the kind stores none

    def __len__(self) -> int:
        """Return the number of names."""
        return self.origin.names

    def search(
        self, vectors: npt.NDArray[np.float32], k: int, within: npt.NDArray[Any] | None = None
    ) -> tuple[Scores, NameIds]:
        """Return the `k` nearest names of each vector, best first; ties are ordered by id.

        *Shape:* vectors (n, width) -> scores (n, k), name ids (n, k). If there are fewer than k names, the remaining
        ids are -1. `within` restricts the names to those in a Boolean mask or an array of ids.
        """
        require_whole_maps()
        vectors = self._require_width(vectors)
        allowed = None if within is None else self._mask(within)
        scores = np.full((len(vectors), k), -np.inf, dtype=np.float32)
        ids = np.full((len(vectors), k), -1, dtype=np.int64)
        found = len(self) if allowed is None else int(allowed.sum())
        columns = min(k, found)
        if columns:
            for start in range(0, len(vectors), _BLOCK):
                block = slice(start, start + _BLOCK)
                scores[block, :columns], ids[block, :columns] = self._best(vectors[block], columns, allowed)
        return scores, ids

    def _best(self, vectors: Scores, k: int, allowed: npt.NDArray[np.bool_] | None) -> tuple[Scores, NameIds]:
        if self._vectors is None:
            return _sort_found(*self._search_all(vectors, k, allowed))
        count = len(self) if allowed is None else int(allowed.sum())
        _, ids = self._search_all(vectors, min(_REFINED[self.origin.kind] * k, count), allowed)
        scores, ids = _sort_found(_products(vectors, ids, self._vectors), ids)
        return scores[:, :k], ids[:, :k]

    def _search_all(self, vectors: Scores, k: int, allowed: npt.NDArray[np.bool_] | None) -> tuple[Scores, NameIds]:
        is_few = allowed is not None and int(allowed.sum()) < _FEW * len(self)
        found = [
            self._search_part(part, vectors, k, None if allowed is None else allowed[part.start : part.end], is_few=is_few)
            for part in self._parts
        ]
        return found[0] if len(found) == 1 else merge_found(found, k)

    def _search_part(
        self, part: IndexPart, vectors: Scores, k: int, allowed: npt.NDArray[np.bool_] | None, *, is_few: bool
    ) -> tuple[Scores, NameIds]:
        bits = None if allowed is None else np.packbits(allowed, bitorder="little")
        selector = None if bits is None else faiss().IDSelectorBitmap(bits)  # the selector keeps a reference to `bits`
        index, parameters = self._way(part.index, selector, is_few=is_few)
        try:
            scores, ids = index.search(vectors, k, params=parameters)
        except RuntimeError as e:
            raise IntegrityError("artefact-corrupt", "FAISS cannot search the index", fix="rebuild the index") from e
        if int(ids.min()) < -1 or int(ids.max()) >= part.names:
            raise IntegrityError("artefact-corrupt", "the index contains an invalid name id", fix="rebuild the index")
        ids[ids >= 0] += part.start
        return scores, ids

    def _way(self, index: Any, selector: Any, *, is_few: bool) -> tuple[Any, Any]:
        """Return the FAISS index to search and the search parameters. If `is_few`, the search is exhaustive for every kind."""
        library = faiss()
        if self.origin.kind == "hnsw":
            if is_few:
                return library.downcast_index(index.storage), library.SearchParameters(sel=selector)
            return index, library.SearchParametersHNSW(sel=selector, efSearch=_EFFORT)
        if find_kind(self.origin.kind).is_in_lists:
            return index, library.SearchParametersIVF(sel=selector, nprobe=index.nlist if is_few else min(_PROBED, index.nlist))
        return index, library.SearchParameters(sel=selector) if selector is not None else None

    def _require_width(self, vectors: npt.NDArray[np.float32]) -> Scores:
        if vectors.ndim != 2 or vectors.shape[1] != self.origin.width:
            what = f"queries have the shape {vectors.shape}, but the index has width {self.origin.width:,}"
            raise ConfigError("index-query", what, fix="use the encoder that the index was built with")
        return np.ascontiguousarray(vectors, dtype=np.float32)

    def _mask(self, within: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        if within.dtype == np.bool_ and within.shape == (len(self),):
            return within
        if (
            within.dtype.kind in "iu"
            and within.ndim == 1
            and (not len(within) or 0 <= within.min() <= within.max() < len(self))
        ):
            mask = np.zeros(len(self), dtype=np.bool_)
            mask[within] = True
            return mask
        what = "`within` is neither a Boolean mask of all names nor an array of name ids"
        raise ConfigError("index-query", what, fix="use the knowledge base that the index was built for")


def _products(wanted: Scores, ids: NameIds, vectors: npt.NDArray[np.float16]) -> Scores:
    """Return the inner products of each query and its retrieved names. *Shape:* wanted (n, width), ids (n, k) -> (n, k)."""
    products = np.empty(ids.shape, dtype=np.float32)
    rows = max(1, _REFINED_AT_ONCE // max(1, ids.shape[1]))
    for start in range(0, len(ids), rows):
        part = slice(start, start + rows)
        near = vectors[np.maximum(ids[part], 0)].astype(np.float32)  # shape: (rows, k, width)
        with np.errstate(invalid="ignore", over="ignore"):  # vectors from untrusted files may contain NaN or infinity
            products[part] = np.matmul(near, wanted[part, :, None])[:, :, 0]
    return products


def _sort_found(scores: Scores, ids: NameIds) -> tuple[Scores, NameIds]:
    """Sort by score, then by id; entries without a name come last."""
    scores[(ids < 0) | np.isnan(scores)] = -np.inf
    order = np.lexsort((ids, -scores), axis=1)
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)


def open_index(folder: Path | str, expected: IndexOrigin | None = None, *, verify: Verify = "once") -> Index:
    """Open an index; raise IntegrityError if its origin is not `expected`.

    File digests are verified on first use on a machine or, with `verify="full"`, on every call.
    """
    return index_of(open_index_artefact(folder, expected, verify=verify))


def index_of(found: IndexArtefact) -> Index:
    """Create the `Index` of an open artefact."""
    parts, origin, artefact = found
    return Index(parts, origin, artefact.digest, artefact, open_vectors(artefact, origin))


_NAMES_PER_CANDIDATE = 4  # names retrieved per candidate; multiplied by this again if they have too few concepts
_MAX_TIED = 1_000  # maximum number of names retrieved if all of them tie for the best score
_MAX_FOUND = 1_000_000  # maximum number of names retrieved per search, summed over all mentions

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Nearest:
    """Ranks concepts by their nearest names in the index. `top_k` is the number of candidates; `only` limits the concepts."""

    kb: KnowledgeBase
    index: Index
    top_k: int
    only: ConceptMask | None = None

    @cached_property
    def _names(self) -> npt.NDArray[np.bool_] | None:
        return None if self.only is None else names_of(self.kb, self.only)

    def rank(self, vectors: Vectors) -> list[Ranked]:
        """Return the concepts of the names nearest to each vector, best first."""
        found = [Ranked()] * len(vectors)
        queries = list(range(len(vectors)))
        max_k = len(self.index) if self._names is None else int(self._names.sum())
        enough = min(self.top_k, len(self.kb) if self.only is None else int(self.only.sum()))
        k = min(_NAMES_PER_CANDIDATE * self.top_k, max_k)
        while queries and k and enough:
            few = []
            for row, (best, is_cut, are_tied) in enumerate(self._iter_ranked(vectors, k)):
                found[queries[row]] = best
                are_few = len(best.candidates) < enough or (are_tied and k < _MAX_TIED)
                if are_few and is_cut and k < max_k:
                    few.append(row)
            queries, vectors = [queries[row] for row in few], vectors[few]
            k = min(_NAMES_PER_CANDIDATE * k, max_k)
        return found

    def _iter_ranked(self, vectors: Vectors, k: int) -> Iterator[tuple[Ranked, bool, bool]]:
        """Yield, for each vector, the concepts of its `k` nearest names, whether `k` were found, and whether all scores tie."""
        rows = max(1, _MAX_FOUND // k)
        for start in range(0, len(vectors), rows):
            scores, names = self.index.search(vectors[start : start + rows], k, self._names)
            for score, name in zip(scores, names, strict=True):
                is_name = name >= 0
                best = zip(name[is_name].tolist(), score[is_name].tolist(), strict=True)
                yield rank_concepts(self.kb, best, self.top_k, self.only), bool(is_name.all()), bool(score[0] == score[-1])
