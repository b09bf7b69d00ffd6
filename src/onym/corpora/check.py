"""What is wrong in a corpus: the problems that reading finds, and mentions that say nothing or say it twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onym.corpora.base import Item, iter_items
from onym.types import Document, Problem


def check_corpus(items: Iterable[Item]) -> Iterator[Problem]:
    """Yield what is wrong, in the order of the corpus. The text itself never stands in a problem.

    >>> [problem.code for problem in check_corpus([Document("1", "")])]
    ['corpus-empty']
    """
    for item in iter_items(items):
        if isinstance(item, Problem):
            yield item
        else:
            yield from _problems(item)


def _problems(document: Document) -> Iterator[Problem]:
    if not document.text.strip():
        yield Problem(document.id, "corpus-empty", "the document has no text")
    seen = set()
    for mention in document.mentions:
        where = f"{mention.start} to {mention.end}"
        if mention.surface != mention.surface.strip():
            yield Problem(document.id, "corpus-spaces", "a mention begins or ends with white space", where)
        key = (mention.start, mention.end, mention.parts, mention.type, mention.concept_ids)
        if key in seen:
            yield Problem(document.id, "corpus-twice", "a mention stands twice, with the same type and ids", where)
        seen.add(key)
    known = {mention.id for mention in document.mentions} | {i for mention in document.mentions for i in mention.concept_ids}
    for relation in document.relations:
        if any(argument not in known and ":" not in argument for _, argument in relation.arguments):
            what = "a relation names a mention that is not there"
            yield Problem(document.id, "corpus-relation", what, relation.id or relation.type)
