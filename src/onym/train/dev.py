"""What evaluations during training share: a sample of the mentions, and of the names to search among."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.kb.masks import names_of
from onym.train.samples.order import Shuffled
from onym.train.samples.targets import concepts_of
from onym.types import Document

T = TypeVar("T")
_SEED = 0  # of the names that are drawn: the same ones in every training


def evenly_spaced(items: Sequence[T], count: int) -> list[T]:
    """Return `count` of the items, evenly spaced; 0 is all.

    >>> evenly_spaced([1, 2, 3, 4, 5, 6], 3)
    [1, 3, 5]
    """
    if not count or count >= len(items):
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]


def dev_documents(documents: Iterable[Document], count: int) -> list[Document]:
    """Return documents with `count` of their mentions that have an id, evenly spaced; 0 is all.

    >>> from onym.types import Mention
    >>> doc = Document("1", "fever, cough", (Mention(0, 5, "fever", ("a:1",)), Mention(7, 12, "cough", ("a:2",))))
    >>> [mention.surface for doc in dev_documents([doc, doc], 2) for mention in doc.mentions]
    ['fever', 'fever']
    """
    mentions = [(doc, mention) for doc in documents for mention in doc.mentions if mention.concept_ids]
    groups = [list(group) for _, group in groupby(evenly_spaced(mentions, count), key=lambda pair: id(pair[0]))]
    return [replace(group[0][0], mentions=tuple(mention for _, mention in group)) for group in groups]


def dev_names(documents: Sequence[Document], kb: KnowledgeBase, others: int) -> npt.NDArray[np.int64] | None:
    """Return the ids of all names of the gold concepts, and of `others` drawn at random; None is all names.

    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> len(kb.names), len(dev_names([doc], kb, 2)), dev_names([doc], kb, 0)
    (9, 5, None)
    """
    is_gold = np.zeros(len(kb), dtype=bool)
    is_gold[list({concept for doc in documents for mention in doc.mentions for concept in concepts_of(mention, kb)})] = True
    is_named = names_of(kb, is_gold)
    if not others or int(is_named.sum()) + others >= len(kb.names):
        return None
    drawn = Shuffled(len(kb.names), _SEED).at(np.arange(len(kb.names)))
    is_named[drawn[~is_named[drawn]][:others]] = True
    return np.flatnonzero(is_named)
