"""Links with a linker alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onym.kb.ranking import ConceptMask
from onym.methods.base import Linker
from onym.pipeline import Pipeline, PipelineOptions
from onym.types import Document, LinkedDocument


def link_with(
    linker: Linker,
    documents: Iterable[Document],
    *,
    top_k: int = 10,
    only: ConceptMask | None = None,
    expand: bool = True,
) -> Iterator[LinkedDocument]:
    """Link annotated mentions as the linker ranks: names do not decide, and concepts outside `only` are ignored."""
    options = PipelineOptions(top_k=top_k, restrict=True, expand_abbreviations=expand)
    return Pipeline(linker, options=options, only=only, bare=True).link_many(documents)
