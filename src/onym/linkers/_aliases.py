"""Aliases in a document: a mention in brackets right behind another is usually another name of the same thing.

"amrubicin (SM-5887)" says what SM-5887 is, wherever the document mentions it, even if no knowledge base has that name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from onym.types import Document

_OPENING = re.compile(r"\s?[(\[]\s?")
_CLOSING = re.compile(r"\s?[)\]]")


def aliases_of(doc: Document, queries: Sequence[str]) -> Mapping[str, set[str]]:
    """Return for the query of a mention the other queries of the document that stand for the same thing.

    >>> from onym.types import Mention
    >>> doc = Document("1", "amrubicin (SM-5887)", (Mention(0, 9, "amrubicin"), Mention(11, 18, "SM-5887")))
    >>> dict(aliases_of(doc, ["amrubicin", "sm 5887"]))
    {'amrubicin': {'sm 5887'}, 'sm 5887': {'amrubicin'}}
    """
    found: dict[str, set[str]] = defaultdict(set)
    order = sorted(range(len(doc.mentions)), key=lambda at: (doc.mentions[at].start, doc.mentions[at].end))
    for one, other in pairwise(order):
        first, second = doc.mentions[one], doc.mentions[other]
        if (
            first.type == second.type
            and queries[one] != queries[other]
            and _OPENING.fullmatch(doc.text, first.end, max(first.end, second.start))
            and _CLOSING.match(doc.text, second.end)
        ):
            found[queries[one]].add(queries[other])
            found[queries[other]].add(queries[one])
    return found
