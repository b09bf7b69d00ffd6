"""Rows of a batch that must not be pushed apart: their concepts differ, and yet they may mean the same.

A batch of pairs has two rows for each: the first strings of all pairs, then the second ones in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.store.arrays import Ragged
from onym.train.samples.base import Positive
from onym.train.samples.order import Ints


def labels_of(positives: Sequence[Positive]) -> Ints:
    """Return the concepts (rows,) of a batch.

    >>> labels_of([Positive("fever", "pyrexia", 7, (0, 1)), Positive("mi", "heart attack", 8, (2, 3))]).tolist()
    [7, 8, 7, 8]
    """
    return np.tile(np.array([each.concept for each in positives], dtype=np.int64), 2)


def same_of(positives: Sequence[Positive], kb: KnowledgeBase) -> npt.NDArray[np.bool_]:
    """Return the pairs (rows, rows) of different concepts that are no negatives.

    Those are rows with the same string, and rows with names that share any concept: what a name means is not only the concept
    for which it is in the batch.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> heart, pressure = (kb.resolve(concept_id)[0] for concept_id in ("mesh:D009203", "mesh:D006973"))
    >>> mi, attack, high = (kb.find(name) for name in ("MI", "heart attack", "high blood pressure"))
    >>> one = Positive("heart attack", "mi", heart, (attack, mi))
    >>> other = Positive("mi", "high blood pressure", pressure, (mi, high))
    >>> same_of([one, other], kb).astype(int)  # heart attack, mi of pressure, mi of heart, high blood pressure
    array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 1],
           [0, 0, 1, 0]])
    """
    labels, names = labels_of(positives), np.array([each.names for each in positives], dtype=np.int64).T.ravel()
    rows, keys = _keys(positives, labels, names, kb)
    order = np.argsort(keys, kind="stable")
    rows, keys = rows[order], keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    found: npt.NDArray[np.bool_] = np.zeros((len(labels), len(labels)), dtype=bool)
    # Most are the rows of one concept alone, between which nothing is to be said.
    is_mixed = np.minimum.reduceat(labels[rows], starts) != np.maximum.reduceat(labels[rows], starts)
    ends = np.append(starts[1:], len(rows))
    for start, end in zip(starts[is_mixed].tolist(), ends[is_mixed].tolist(), strict=True):
        found[np.ix_(rows[start:end], rows[start:end])] = True
    found &= labels[:, None] != labels
    return found


def _keys(positives: Sequence[Positive], labels: Ints, names: Ints, kb: KnowledgeBase) -> tuple[Ints, Ints]:
    """Return rows and what each of them stands for: the concepts of its string, and the string itself beyond all concepts."""
    known = np.flatnonzero(names < len(kb.names))
    meant = Ragged(np.asarray(kb.name_concepts.offsets), np.asarray(kb.name_concepts.values)).take(names[known])
    more = [(row, concept) for row, each in enumerate(positives) for concept in each.also]
    more_rows, more_keys = np.array(more, dtype=np.int64).reshape(-1, 2).T
    all_rows = np.arange(len(labels))
    rows = np.concatenate((all_rows, all_rows, known[meant.owners()], more_rows))
    return rows, np.concatenate((labels, names + len(kb), meant.values.astype(np.int64), more_keys))
