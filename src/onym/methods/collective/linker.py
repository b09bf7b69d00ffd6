"""Collective linker: encodes a document once and links each mention to the nearest name embedding (Bhowmik et al.)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from onym.errors import ConfigError, missing_extra
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.base import Linker, ModelLinkerConfig, Rank
from onym.parts import ModelReference, OpenContext, require_model
from onym.text.queries import Query, by_document, defining_mention

if TYPE_CHECKING:
    from onym.methods.collective.model import Collective
    from onym.methods.dense.index.search import Index, Nearest

Vectors = npt.NDArray[np.float32]


class CollectiveLinkerConfig(ModelLinkerConfig):
    """Options of the collective linker. The default of `average_repeated_mentions` was chosen on dev sets."""

    kind: Literal["collective"] = "collective"
    index: str = Field(default="auto", description="Kind of the embedding index: auto, flat, flat16, sq8, hnsw, ivfpq or pq.")
    average_repeated_mentions: bool = Field(
        default=True, description="Average the embeddings of repeated mentions (same surface) in a document."
    )


Config = CollectiveLinkerConfig  # the registry expects this name in every module


def open(config: CollectiveLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> CollectiveLinker:
    """Open the model and the index of all names; the index is built on first use."""
    reference = require_model(config.model, "a collective linker")
    try:
        from onym.methods.collective.model import open_shared
    except ImportError as e:
        raise missing_extra("a collective linker", "models") from e
    model = open_shared(reference, config.dtype, config.device, context)
    return CollectiveLinker.of(model, kb, config, context)


class CollectiveLinker(Linker):
    """Links all mentions of a document in one pass, with contextual mention embeddings.

    Needs: a model trained by `onym train collective`, and an index of all names made with its name encoder.
    When to use: many mentions per document; ambiguous words.
    Related: `DenseLinker`, which ignores context; `GenerativeLinker`, which encodes a window per mention.
    """

    reads_context = True

    def __init__(
        self, kb: KnowledgeBase, model: Collective, index: Index, config: CollectiveLinkerConfig | None = None
    ) -> None:
        self.kb, self.model, self.index = kb, model, index
        self._config = config or CollectiveLinkerConfig()

    @classmethod
    def of(
        cls,
        model: Collective,
        kb: KnowledgeBase,
        config: CollectiveLinkerConfig | None = None,
        context: OpenContext | None = None,
    ) -> CollectiveLinker:
        """Create a linker from an open model. The index is stored with the knowledge base."""
        from onym.methods.dense.index.build import open_derived_index

        if model.names is None:
            fix = "use it as a detector, together with another linker"
            raise ConfigError("model-family", "the model detects mentions but cannot link them", where=model.name, fix=fix)
        config, context = config or CollectiveLinkerConfig(), context or OpenContext()
        return cls(kb, model, open_derived_index(kb, model.names, config.index, progress=context.progress), config)

    @classmethod
    def from_pretrained(
        cls, model: Path | str, kb: KnowledgeBase, *, context: OpenContext | None = None, **options: Any
    ) -> CollectiveLinker:
        """Open a model by its folder; `options` are fields of `CollectiveLinkerConfig`."""
        return open(
            CollectiveLinkerConfig.of({"model": ModelReference(path=str(model)), **options}), kb, context or OpenContext()
        )

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, without the model's settings for detection."""
        detector = ("threshold", "max_span_tokens", "links")
        model = {name: value for name, value in self.model.config.items() if name not in detector}
        index = {"index": self.index.origin.kind, "index_precision": self.index.origin.precision}
        own = self._config.model_dump(include={"average_repeated_mentions"})
        return {"linker": "collective", **model, **index, **own}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that maps queries to the concepts of the names nearest to their mentions."""
        from onym.methods.dense.index.search import Nearest

        nearest = Nearest(self.kb, self.index, top_k, allowed)
        return lambda queries: self._rank(by_document(queries), nearest)

    def _rank(self, groups: Sequence[Sequence[Query]], nearest: Nearest) -> list[Ranked]:
        """Return the candidates of the queries of several documents; a mention outside of every window has none."""
        documents = [
            # an abbreviation is read where the document defines it
            replace(group[0].document, mentions=tuple(map(defining_mention, group)), relations=())
            for group in groups
        ]
        vectors, mentions = self.model.mention_vectors(documents)
        if self._config.average_repeated_mentions:
            vectors = _average_by_key(vectors, [(row, groups[row][at].mention.surface.casefold()) for row, at in mentions])
        answers = dict(zip(mentions, nearest.rank(vectors), strict=True))
        return [answers.get((row, at), Ranked()) for row, group in enumerate(groups) for at in range(len(group))]


def _average_by_key(vectors: Vectors, keys: Sequence[tuple[int, str]]) -> Vectors:
    """Give all vectors with the same key their mean direction; each vector keeps its length.

    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]], dtype=np.float32)
    >>> _average_by_key(rows, [(0, "mi"), (0, "mi"), (1, "mi")]).tolist()
    [[0.7071067690849304, 0.7071067690849304], [0.7071067690849304, 0.7071067690849304], [3.0, 4.0]]
    """
    if not len(vectors):
        return vectors
    order = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    groups = np.array([order[key] for key in keys])
    sums = np.zeros((len(order), vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, groups, vectors)
    found = sums[groups]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True) / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    return np.asarray(found * lengths, dtype=np.float32)
