"""The collective linker: a document is read once, and each mention means the concept of the nearest name (Bhowmik et al.)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from onym.encoders.collective import Collective
from onym.encoders.device import Precision
from onym.errors import ConfigError
from onym.index.derived import index_beside
from onym.index.kinds import AUTO
from onym.index.search import Index
from onym.index.source import Progress, silent
from onym.kb import KnowledgeBase
from onym.linkers.base import ConceptMask, Linked
from onym.linkers.nearest import Nearest, Vectors
from onym.text.expansion import defined_at
from onym.types import Candidate, Document, Link, Mention


@dataclass(frozen=True, slots=True)
class ConsistencyConfig:
    """How a document's mentions help each other.

    With `expand`, a mention that its document says to be short for something is read where that is written out. With `share`,
    mentions that are written alike in a document have one vector, the mean of theirs. Both helped on dev.
    """

    expand: bool = True
    share: bool = True


_BATCH = 64  # documents, as a pipeline's detector sees together: they are still known then


class CollectiveLinker:
    """Links all mentions of a document by one reading of it: each mention's vector knows the text around it.

    Needs: a model that `onym train collective` wrote, and an index of all names made with its encoder of names.
    When to use: many mentions in a document; words that mean different things in different texts.
    Related: `DenseLinker`, which sees the mention alone; `GenerativeLinker`, which reads a window for each mention.
    """

    def __init__(self, kb: KnowledgeBase, model: Collective, index: Index, settings: ConsistencyConfig | None = None) -> None:
        self.kb, self.model, self.index = kb, model, index
        self._settings = settings or ConsistencyConfig()

    @classmethod
    def from_pretrained(
        cls,
        model: Path | str | Collective,
        kb: KnowledgeBase,
        *,
        kind: str = AUTO,
        settings: ConsistencyConfig | None = None,
        precision: Precision = "auto",
        progress: Progress = silent,
    ) -> CollectiveLinker:
        """Open a model's folder, or take a model that is open. The index is kept beside the knowledge base."""
        opened = model if isinstance(model, Collective) else Collective.open(model, precision)
        if opened.names is None:
            fix = "use it as a detector, with another linker"
            raise ConfigError("model-family", "the model finds mentions and links none", where=opened.name, fix=fix)
        return cls(kb, opened, index_beside(kb, opened.names, kind, progress=progress), settings)

    @property
    def config(self) -> dict[str, Any]:
        """What was really used; the detector's threshold has no part in it."""
        own = {
            name: value for name, value in self.model.config.items() if name not in ("threshold", "max_span_tokens", "links")
        }
        index = {"index": self.index.origin.kind, "index_precision": self.index.origin.precision}
        return {"linker": "collective", **own, **index, **asdict(self._settings)}

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with the concepts of the names nearest to its mentions."""
        nearest = Nearest(self.kb, self.index, top_k, only)
        rest = iter(documents)
        while batch := list(islice(rest, _BATCH)):
            vectors, places = self.model.mention_vectors([self._read(doc) for doc in batch])
            if self._settings.share:
                vectors = _shared(vectors, [(doc, batch[doc].mentions[at].surface.casefold()) for doc, at in places])
            answers: dict[tuple[int, int], tuple[Candidate, ...]] = dict(zip(places, nearest.candidates(vectors), strict=True))
            for number, doc in enumerate(batch):
                yield Linked(doc, tuple(Link(m, answers.get((number, at), ())) for at, m in enumerate(doc.mentions)))

    def _read(self, doc: Document) -> Document:
        """Return a document with its mentions where they are to be read."""
        if not self._settings.expand:
            return doc
        places = defined_at(doc)
        return replace(doc, mentions=tuple(Mention(start, end, doc.text[start:end]) for start, end in places), relations=())


def _shared(vectors: Vectors, keys: Sequence[tuple[int, str]]) -> Vectors:
    """Return vectors where those with the same key have their mean, at its length of before.

    >>> _shared(np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]], dtype=np.float32), [(0, "mi"), (0, "mi"), (1, "mi")]).tolist()
    [[0.7071067690849304, 0.7071067690849304], [0.7071067690849304, 0.7071067690849304], [3.0, 4.0]]
    """
    if not len(vectors):
        return vectors
    order = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    groups = np.array([order[key] for key in keys])
    sums = np.zeros((len(order), vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, groups, vectors)
    found = sums[groups]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True) / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    return np.asarray(found * lengths, dtype=np.float32)
