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
    ids: set[str] = set()
    last: Document | None = None
    for item in iter_items(items):
        if isinstance(item, Problem):
            yield item
            continue
        if item.id in ids and not _is_next_part(item, last):
            yield _problem(item, "corpus-duplicate", "the id stands more than once")
        ids.add(item.id)
        last = item
        yield from _problems(item)


def _is_next_part(document: Document, last: Document | None) -> bool:
    """Tell whether a document is the next part of an article: parts have one id and follow one another in a file."""
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
            yield _problem(document, "corpus-spaces", "a mention begins or ends with white space", where)
        key = (mention.start, mention.end, mention.parts, mention.type, mention.concept_ids)
        if key in seen:
            yield _problem(document, "corpus-twice", "a mention stands twice, with the same type and ids", where)
        seen.add(key)
    known = {mention.id for mention in document.mentions} | {i for mention in document.mentions for i in mention.concept_ids}
    for relation in document.relations:
        if any(argument not in known and ":" not in argument for _, argument in relation.arguments):
            what = "a relation names a mention that is not there"
            yield _problem(document, "corpus-relation", what, relation.id or relation.type)
