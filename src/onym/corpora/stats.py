"""What a corpus holds: counts of documents, mentions and concepts, by type and by vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from onym.corpora.base import Item, iter_items
from onym.corpora.reading import is_loss
from onym.types import Problem


@dataclass
class CorpusStats:
    """Counts. A composite mention has several concepts; one that has none was annotated without an id.

    `left_out` counts documents and mentions that could not be read.
    """

    documents: int = 0
    code_points: int = 0
    mentions: int = 0
    without_id: int = 0
    composite: int = 0
    discontinuous: int = 0
    relations: int = 0
    concepts: int = 0
    left_out: int = 0
    types: Counter[str] = field(default_factory=Counter)
    vocabularies: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, the most frequent first."""
        plain = asdict(self)
        for key in ("types", "vocabularies", "problems"):
            plain[key] = dict(getattr(self, key).most_common())
        return plain


def corpus_stats(items: Iterable[Item]) -> CorpusStats:
    """Count what a corpus holds.

    >>> from onym.types import Document, Mention
    >>> corpus_stats([Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))]).vocabularies
    Counter({'mesh': 1})
    """
    stats = CorpusStats()
    concepts: set[str] = set()
    for item in iter_items(items):
        if isinstance(item, Problem):
            stats.problems[item.code] += 1
            stats.left_out += is_loss(item)
            continue
        stats.documents += 1
        stats.code_points += len(item.text)
        stats.relations += len(item.relations)
        stats.mentions += len(item.mentions)
        for mention in item.mentions:
            stats.types[mention.type or "(none)"] += 1
            stats.without_id += not mention.concept_ids
            stats.composite += len(mention.concept_ids) > 1
            stats.discontinuous += bool(mention.parts)
            stats.vocabularies.update(concept_id.partition(":")[0] for concept_id in mention.concept_ids)
            concepts.update(mention.concept_ids)
    stats.concepts = len(concepts)
    return stats
