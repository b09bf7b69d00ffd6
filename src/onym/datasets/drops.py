"""Counts of what a preparation drops, by split and by reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from onym.corpora.base import Item
from onym.types import Document, Problem

NO_ID = "no id"


@dataclass
class DropCounts:
    """Counts of dropped mentions by reason, and of the problems that reading found by their codes."""

    dropped: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    problems: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def drop(self, split: str, reason: str, count: int = 1) -> None:
        """Count mentions that were dropped."""
        if count:
            self.dropped[split][reason] += count

    def iter_documents(self, split: str, items: Iterable[Item]) -> Iterator[Document]:
        """Yield the documents; count the problems between them.

        >>> drops = DropCounts()
        >>> [doc.id for doc in drops.iter_documents("dev", [Problem("1", "corpus-offsets", "what"), Document("1", "fever")])]
        ['1']
        >>> drops.problems["dev"]
        Counter({'corpus-offsets': 1})
        """
        for item in items:
            if isinstance(item, Problem):
                self.problems[split][item.code] += 1
            else:
                yield item

    def with_ids(self, split: str, document: Document) -> Document:
        """Return a document without the mentions that have no id."""
        mentions = tuple(mention for mention in document.mentions if mention.concept_ids)
        self.drop(split, NO_ID, len(document.mentions) - len(mentions))
        return replace(document, mentions=mentions)
