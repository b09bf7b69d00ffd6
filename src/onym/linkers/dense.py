"""The dense linker: mentions and names are vectors, and a mention means the concept of the nearest name (SapBERT)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from onym.encoders.device import Precision
from onym.encoders.encoder import Encoder
from onym.encoders.settings import EncoderSettings
from onym.index.derived import index_beside
from onym.index.kinds import AUTO
from onym.index.search import Index
from onym.index.source import Progress, silent
from onym.kb import KnowledgeBase
from onym.linkers.base import ConceptMask, Linked
from onym.linkers.nearest import Nearest
from onym.store.models import folder_of
from onym.text.expansion import written_out
from onym.text.normal import normal_name
from onym.types import Candidate, Document, Link

_BATCH = 256  # documents


@dataclass(frozen=True, slots=True)
class DenseConfig:
    """How the linker looks. With `expand`, a mention that its document says to be short for something is read as that.

    `remembered` is of how many different mentions the answers are kept while documents are linked.
    """

    expand: bool = True
    remembered: int = 50_000


class DenseLinker:
    """Links a mention to the concepts whose names have the vectors nearest to its own. It sees the mention alone.

    Needs: an encoder, and an index of the knowledge base's names made with it.
    When to use: names that are written in many ways; with a vocabulary too large or too new for a trained generator.
    Related: `TfidfLinker` for likeness of letters, `GenerativeLinker` for a mention in its context.
    """

    def __init__(self, kb: KnowledgeBase, encoder: Encoder, index: Index, settings: DenseConfig | None = None) -> None:
        self.kb, self.encoder, self.index = kb, encoder, index
        self._settings = settings or DenseConfig()

    @classmethod
    def from_pretrained(
        cls,
        model: Path | str,
        kb: KnowledgeBase,
        *,
        kind: str = AUTO,
        encoder: EncoderSettings | None = None,
        settings: DenseConfig | None = None,
        precision: Precision = "auto",
        download: bool = False,
        progress: Progress = silent,
    ) -> DenseLinker:
        """Open an encoder: a folder, or with `download` a name on Hugging Face's hub.

        `encoder` are its settings, where they are not to be those of the folder. The index of that `kind` is kept beside the
        knowledge base: the first time, all its names are encoded.
        """
        folder = folder_of(model, download=download)
        opened = Encoder.open(folder, encoder, precision, name="" if Path(model).exists() else str(model))
        return cls(kb, opened, index_beside(kb, opened, kind, progress=progress), settings)

    @property
    def config(self) -> dict[str, Any]:
        """What was really used; the names were perhaps encoded in another precision than mentions are."""
        index = {"index": self.index.origin.kind, "index_precision": self.index.origin.precision}
        return {"linker": "dense", **self.encoder.config, **index, **asdict(self._settings)}

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with the concepts of the names nearest to its mentions."""
        nearest = Nearest(self.kb, self.index, top_k, only)
        known: OrderedDict[str, tuple[Candidate, ...]] = OrderedDict()
        rest = iter(documents)
        while batch := list(islice(rest, _BATCH)):
            texts = [self._texts(doc) for doc in batch]
            self._learn(known, dict.fromkeys(text for each in texts for text in each), nearest)
            for doc, each in zip(batch, texts, strict=True):
                yield Linked(doc, tuple(Link(m, known[text]) for m, text in zip(doc.mentions, each, strict=True)))
            while len(known) > self._settings.remembered:
                known.popitem(last=False)

    def _texts(self, doc: Document) -> list[str]:
        """Return what to look for, for each mention, written as names are."""
        asked = [mention for _, mention in written_out(doc)] if self._settings.expand else doc.mentions
        return [normal_name(mention.surface) for mention in asked]

    def _learn(self, known: OrderedDict[str, tuple[Candidate, ...]], texts: Iterable[str], nearest: Nearest) -> None:
        """Find the answers that are not known yet; those that were asked for last are forgotten last."""
        new = []
        for text in texts:
            if text in known:
                known.move_to_end(text)
            else:
                new.append(text)
        known.update(zip(new, self._answers(new, nearest), strict=True))

    def _answers(self, texts: Sequence[str], nearest: Nearest) -> list[tuple[Candidate, ...]]:
        """Return candidates for each text."""
        found: list[tuple[Candidate, ...]] = [()] * len(texts)
        places = [place for place, text in enumerate(texts) if text]  # nothing is near to nothing
        vectors = self.encoder.encode([texts[place] for place in places])
        for place, candidates in zip(places, nearest.candidates(vectors), strict=True):
            found[place] = candidates
        return found
