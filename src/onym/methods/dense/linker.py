"""Dense linker: embeds mentions and names, and links a mention to the concepts of the nearest names (as with SapBERT)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.base import Linker, ModelLinkerConfig, Rank
from onym.parts import ModelReference, OpenContext, require_model

if TYPE_CHECKING:
    from onym.methods.dense.index.search import Index, Nearest
    from onym.models.encoder import TextEncoder
    from onym.models.settings import EncoderSettings


class DenseLinkerConfig(ModelLinkerConfig):
    """Options of the dense linker."""

    kind: Literal["dense"] = "dense"
    index: str = Field(default="auto", description="Kind of the embedding index: auto, flat, flat16, sq8, hnsw, ivfpq or pq.")


Config = DenseLinkerConfig  # the registry expects this name in every module


def open(
    config: DenseLinkerConfig, kb: KnowledgeBase, context: OpenContext, encoder: EncoderSettings | None = None
) -> DenseLinker:
    """Open the encoder and the index of all names; the index is built on first use.

    `encoder` overrides the settings in the model's folder.
    """
    from onym.methods.dense.index.build import open_derived_index
    from onym.models.opening import open_encoder, require_library

    require_library()
    reference = require_model(config.model, "a dense linker")
    model = open_encoder(reference.folder(context), encoder, config.dtype, device=config.device, name=reference.name)
    return DenseLinker(kb, model, open_derived_index(kb, model, config.index, progress=context.progress), config)


class DenseLinker(Linker):
    """Links a mention to the concepts whose name embeddings are nearest to the mention's embedding; ignores context.

    Needs: an encoder, and an index of the knowledge base's names made with this encoder.
    When to use: names with many variants; vocabularies that are too large or too new for a trained generative model.
    Related: `TfidfLinker` for string similarity, `GenerativeLinker` for mentions in context.
    """

    def __init__(self, kb: KnowledgeBase, encoder: TextEncoder, index: Index, config: DenseLinkerConfig | None = None) -> None:
        self.kb, self.encoder, self.index = kb, encoder, index
        self._config = config or DenseLinkerConfig()

    @classmethod
    def from_pretrained(
        cls,
        model: Path | str,
        kb: KnowledgeBase,
        *,
        encoder: EncoderSettings | None = None,
        context: OpenContext | None = None,
        **options: Any,
    ) -> DenseLinker:
        """Open an encoder by its folder or its name on the hub; `options` are fields of `DenseLinkerConfig`."""
        config = DenseLinkerConfig.of({"model": ModelReference(path=str(model)), **options})
        return open(config, kb, context or OpenContext(), encoder)

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration. `index_precision` (of name embeddings) may differ from `precision`."""
        index = {"index": self.index.origin.kind, "index_precision": self.index.origin.precision}
        return {"linker": "dense", **self.encoder.config, **index}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that maps queries to the concepts of the nearest names."""
        from onym.methods.dense.index.search import Nearest

        nearest = Nearest(self.kb, self.index, top_k, allowed)
        return lambda queries: self._answers([query.text for query in queries], nearest)

    def _answers(self, texts: Sequence[str], nearest: Nearest) -> list[Ranked]:
        """Return candidates for each text."""
        found = [Ranked()] * len(texts)
        rows = [row for row, text in enumerate(texts) if text]  # empty queries have no neighbours
        vectors = self.encoder.encode([texts[row] for row in rows])
        for row, ranked in zip(rows, nearest.rank(vectors), strict=True):
            found[row] = ranked
        return found
