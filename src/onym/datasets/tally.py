"""What a preparation leaves out, by split and by reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from onym.corpora.base import Item
from onym.types import Document, Problem

NO_ID = "no id"


@dataclass
class Tally:
    """Counts of mentions that were dropped, and of problems that reading found; the latter by their codes."""

    dropped: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    problems: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def drop(self, split: str, reason: str, count: int = 1) -> None:
        """Note that mentions were dropped."""
        if count:
            self.dropped[split][reason] += count

    def documents(self, split: str, items: Iterable[Item]) -> Iterator[Document]:
        """Yield the documents, noting the problems between them.

        >>> tally = Tally()
        >>> [doc.id for doc in tally.documents("dev", [Problem("1", "corpus-offsets", "what"), Document("1", "fever")])]
        ['1']
        >>> tally.problems["dev"]
        Counter({'corpus-offsets': 1})
        """
        for item in items:
            if isinstance(item, Problem):
                self.problems[split][item.code] += 1
            else:
                yield item

    def with_ids(self, split: str, document: Document) -> Document:
        """Return a document without the mentions that have no id."""
        kept = tuple(mention for mention in document.mentions if mention.concept_ids)
        self.drop(split, NO_ID, len(document.mentions) - len(kept))
        return replace(document, mentions=kept)
