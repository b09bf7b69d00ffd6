"""Checks a corpus (problems found while reading, empty documents, duplicates) and computes its statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from onym.corpora.base import Item, iter_items
from onym.corpora.reading import is_loss
from onym.types import Document, Problem


def check_corpus(items: Iterable[Item]) -> Iterator[Problem]:
    """Yield the problems of a corpus, in the order of its documents. Problems never contain text of the documents.

    >>> [problem.code for problem in check_corpus([Document("1", "")])]
    ['corpus-empty']
    """
    ids: set[str] = set()
    last: Document | None = None
    for item in iter_items(items):
        if isinstance(item, Problem):
            yield item
            continue
        if item.id in ids and not _is_next_part(item, last):
            yield _problem(item, "corpus-duplicate", "the document id is not unique")
        ids.add(item.id)
        last = item
        yield from _problems(item)


def _is_next_part(document: Document, last: Document | None) -> bool:
    """Return whether a document continues the article of the last document: same id and file, but a different text."""
    return last is not None and (last.id, last.source) == (document.id, document.source) and last.text != document.text


def _problem(document: Document, code: str, what: str, where: str = "") -> Problem:
    return Problem(document.id, code, what, where, document.source, document.ordinal)


def _problems(document: Document) -> Iterator[Problem]:
    if not document.text.strip():
        yield _problem(document, "corpus-empty", "the document has no text")
    seen = set()
    for mention in document.mentions:
        where = f"{mention.start} to {mention.end}"
        if mention.surface != mention.surface.strip():
            yield _problem(document, "corpus-spaces", "a mention begins or ends with whitespace", where)
        key = (mention.start, mention.end, mention.parts, mention.type, mention.concept_ids)
        if key in seen:
            yield _problem(document, "corpus-twice", "a mention is annotated twice, with the same type and ids", where)
        seen.add(key)
    known = {mention.id for mention in document.mentions} | {i for mention in document.mentions for i in mention.concept_ids}
    for relation in document.relations:
        if any(argument not in known and ":" not in argument for _, argument in relation.arguments):
            what = "a relation refers to a missing mention"
            yield _problem(document, "corpus-relation", what, relation.id or relation.type)


@dataclass
class CorpusStats:
    """Statistics of a corpus. `composite` counts mentions with several concepts.

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
        """Return the statistics as a dict; counters are sorted by frequency."""
        plain = asdict(self)
        for key in ("types", "vocabularies", "problems"):
            plain[key] = dict(getattr(self, key).most_common())
        return plain


def corpus_stats(items: Iterable[Item]) -> CorpusStats:
    """Compute the statistics of a corpus.

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
