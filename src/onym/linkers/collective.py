"""The collective linker: a document is read once, and each mention means the concept of the nearest name (Bhowmik et al.)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from onym.encoders.collective import Collective
from onym.encoders.loading import Precision
from onym.errors import ConfigError
from onym.index.beside import index_beside
from onym.index.kinds import AUTO
from onym.index.search import Index
from onym.index.source import Progress, silent
from onym.kb import KnowledgeBase
from onym.linkers.base import ConceptMask, Linked
from onym.linkers.nearest import Nearest
from onym.types import Candidate, Document, Link

_BATCH = 64  # documents, as a pipeline's detector sees together: they are still known then


class CollectiveLinker:
    """Links all mentions of a document by one reading of it: each mention's vector knows the text around it.

    Needs: a model that `onym train collective` wrote, and an index of all names made with its encoder of names.
    When to use: many mentions in a document; words that mean different things in different texts.
    Related: `DenseLinker`, which sees the mention alone; `GenerativeLinker`, which reads a window for each mention.
    """

    def __init__(self, kb: KnowledgeBase, model: Collective, index: Index) -> None:
        self.kb, self.model, self.index = kb, model, index

    @classmethod
    def from_pretrained(
        cls,
        model: Path | str | Collective,
        kb: KnowledgeBase,
        *,
        kind: str = AUTO,
        precision: Precision = "auto",
        progress: Progress = silent,
    ) -> CollectiveLinker:
        """Open a model's folder, or take a model that is open. The index is kept beside the knowledge base."""
        opened = model if isinstance(model, Collective) else Collective.open(model, precision)
        if opened.names is None:
            fix = "use it as a detector, with another linker"
            raise ConfigError("model-family", "the model finds mentions and links none", where=opened.name, fix=fix)
        return cls(kb, opened, index_beside(kb, opened.names, kind, progress=progress))

    @property
    def config(self) -> dict[str, Any]:
        """What was really used; the detector's threshold has no part in it."""
        own = {name: value for name, value in self.model.config.items() if name not in ("threshold", "longest", "links")}
        index = {"index": self.index.origin.kind, "index_precision": self.index.origin.precision}
        return {"linker": "collective", **own, **index}

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with the concepts of the names nearest to its mentions."""
        nearest = Nearest(self.kb, self.index, top_k, only)
        rest = iter(documents)
        while batch := list(islice(rest, _BATCH)):
            vectors, places = self.model.mention_vectors(batch)
            answers: dict[tuple[int, int], tuple[Candidate, ...]] = dict(zip(places, nearest.candidates(vectors), strict=True))
            for number, doc in enumerate(batch):
                yield Linked(doc, tuple(Link(m, answers.get((number, at), ())) for at, m in enumerate(doc.mentions)))
