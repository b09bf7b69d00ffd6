"""Counts dev and test mentions that are also in train: same document and offsets, or same surface and gold ids."""

from __future__ import annotations

from dataclasses import dataclass, field

from onym.corpora.formats.biosyn import OFFSETS
from onym.datasets.biosyn import DOCUMENT
from onym.text.normal import normal_name
from onym.types import Document, Mention

CorpusSpan = tuple[str, str]
"""A document id of the published corpus, and offsets in that document as `start|end`."""
SurfaceAndIds = tuple[str, frozenset[str]]


@dataclass
class Overlap:
    """Numbers of mentions of a split that are also in train: with the same span, or the same normalised surface and ids."""

    mentions: int = 0
    same_span: int = 0
    same_surface_and_ids: int = 0


@dataclass
class TrainOverlap:
    """Counts the overlap of other splits with train. Add all train documents before the documents of other splits.

    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> overlap = TrainOverlap()
    >>> for split in ("train", "dev"):
    ...     overlap.add(split, doc)
    >>> overlap.splits["dev"]
    Overlap(mentions=1, same_span=1, same_surface_and_ids=1)
    """

    splits: dict[str, Overlap] = field(default_factory=dict)
    _train_spans: set[CorpusSpan] = field(default_factory=set)
    _train_pairs: set[SurfaceAndIds] = field(default_factory=set)

    def add(self, split: str, document: Document) -> None:
        """Store the document's mentions if the split is train; otherwise count the mentions that are also in train."""
        for mention in document.mentions:
            span, pair = corpus_span(document, mention), surface_and_ids(mention)
            if split == "train":
                self._train_spans.add(span)
                self._train_pairs.add(pair)
            elif self._train_pairs:
                counts = self.splits.setdefault(split, Overlap())
                counts.mentions += 1
                counts.same_span += span in self._train_spans
                counts.same_surface_and_ids += pair in self._train_pairs


def corpus_span(document: Document, mention: Mention) -> CorpusSpan:
    """Return the document id and offsets that a mention has in the published corpus, before any preparation.

    >>> made = Document("7.1", "fever", notes=(("document", "7"),))
    >>> corpus_span(made, Mention(0, 5, "fever", notes=(("offsets", "12|20"),)))
    ('7', '12|20')
    """
    offsets = dict(mention.notes).get(OFFSETS) or f"{mention.start}|{mention.end}"
    return corpus_document(document), offsets


def corpus_document(document: Document) -> str:
    """Return the id that a document has in the published corpus. Preparing a corpus may split a document into several.

    >>> corpus_document(Document("7.1", "fever", notes=(("document", "7"),))), corpus_document(Document("8", "fever"))
    ('7', '8')
    """
    return dict(document.notes).get(DOCUMENT, document.id)


def surface_and_ids(mention: Mention) -> SurfaceAndIds:
    """Return the normalised surface and the gold ids of a mention: what a system could memorise from train."""
    return normal_name(mention.surface), frozenset(mention.concept_ids)
