"""What a linker is asked: mentions of analysed documents, each with the text to look up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from onym.text.abbreviations import Abbreviation
from onym.text.analysis import AnalysedDocument, analyse, plain
from onym.text.normal import normal_name
from onym.types import Document, Mention


class Query(NamedTuple):
    """A mention to be ranked.

    `text` is the normal form of its surface or, if the document defines it as an abbreviation, of its long form; `definition`
    is that definition. A linker knows the other mentions of the document by the queries of the call, not by
    `document.mentions`.
    """

    document: AnalysedDocument
    mention: Mention
    text: str
    definition: Abbreviation | None = None


def queries_of(document: Document, mentions: Sequence[Mention] | None = None, *, expand: bool = True) -> list[Query]:
    """Return a query for each mention of a document, or for each of the given `mentions`.

    With `expand`, a mention that the document defines as an abbreviation stands for its long form.

    >>> [query] = queries_of(Document("1", "Atrial fibrillation (AF)", (Mention(21, 23, "AF"),)))
    >>> query.text
    'atrial fibrillation'
    """
    mentions = document.mentions if mentions is None else mentions
    if not mentions:
        return []
    document = analyse(document)
    if not expand:
        return [Query(document, mention, normal_name(mention.surface)) for mention in mentions]
    find = document.analysis.abbreviations.definition
    definitions = [find(mention.surface) for mention in mentions]
    return [
        Query(document, mention, normal_name(definition.long if definition else mention.surface), definition)
        for mention, definition in zip(mentions, definitions, strict=True)
    ]


def by_document(queries: Iterable[Query]) -> list[list[Query]]:
    """Return the queries of each document; the queries of a document must be next to each other."""
    return [list(group) for _, group in groupby(queries, key=lambda query: id(query.document))]


def documents_of(queries: Iterable[Query]) -> list[AnalysedDocument]:
    """Return the documents of queries, each with the mentions of its queries only."""
    groups = by_document(queries)
    return [replace(group[0].document, mentions=tuple(query.mention for query in group), relations=()) for group in groups]


def defining_mention(query: Query) -> Mention:
    """Return the long form of a mention where the document defines it; the mention itself if it has no definition.

    >>> text = "Myocardial infarction (MI) is common. MI kills."
    >>> [query] = queries_of(Document("1", text, (Mention(38, 40, "MI"),)))
    >>> defining_mention(query).start, defining_mention(query).surface
    (0, 'Myocardial infarction')
    """
    found = query.definition
    return Mention(found.long_start, found.long_end, found.long) if found else query.mention


def spell_out(query: Query) -> tuple[Document, Mention]:
    """Return the document with the mention replaced by its long form, and the new mention, as input for a model.

    The offsets of the copy do not match the original text.

    >>> text = "Myocardial infarction (MI) is common. MI kills."
    >>> [query] = queries_of(Document("1", text, (Mention(38, 40, "MI"),)))
    >>> document, mention = spell_out(query)
    >>> document.text[mention.start :]
    'Myocardial infarction kills.'
    """
    document, mention = query.document, query.mention
    if not query.definition or not query.definition.long:
        return document, mention
    long = query.definition.long
    text = document.text[: mention.start] + long + document.text[mention.end :]
    expanded = replace(mention, end=mention.start + len(long), surface=long, parts=())
    return replace(plain(document), text=text, mentions=(expanded,)), expanded
