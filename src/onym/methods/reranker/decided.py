"""Names that decide: correct the reranker's probabilities where the name alone says which concept is meant.

Trees learn that such a name is mostly right, but they may be misled by similar mentions of the annotated documents. The concept
that the name decides (see `onym.kb.order`) then gets a probability of at least `LEAST`, and the others share the rest. If
several concepts have the name, and no annotated document has it, one of them comes first.

A reranker that follows its annotations lets them decide before the name does, if they are clear (`KbMemory.meaning`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onym.methods.reranker.features import NAMES
from onym.methods.trees.trees import Floats, Ints

LEAST = 0.95
"""The lowest probability of a concept that the name decides; on dev splits, 93 to 98 % of such answers are right.

Of the answers that annotations decide, 98.6 to 99.3 % are right on dev of BC5CDR, NCBI disease and BioRED.
"""
_TINY = 1e-12
_ANNOTATIONS = 2  # annotated mentions that are needed to overrule a name
_DECIDES, _NAMED, _COUNT, _SHARE = (NAMES.index(name) for name in ("decides", "is_named", "query_count", "recalled_share"))


def let_names_decide(probabilities: Floats, matrix: Floats, owners: Ints, *, follow_annotations: bool = False) -> Floats:
    """Return the probabilities of pairs, changed so that a concept comes first that the mention's name decides.

    With `follow_annotations`, names are left to the trees that mostly mean another concept in the annotated documents.

    >>> matrix = np.zeros((2, len(NAMES)))
    >>> matrix[0, NAMES.index("decides")] = 1
    >>> let_names_decide(np.array([0.3, 0.98]), matrix, np.array([0, 0])).round(2).tolist()
    [0.95, 0.05]
    """
    decides = matrix[:, _DECIDES] == 1
    if follow_annotations:
        decides &= ~is_overruled(matrix)
    rows = np.flatnonzero(decides)
    found = _put_named_first(probabilities, matrix, owners)
    if not len(rows):
        return found
    found[rows] = np.maximum(found[rows], LEAST)
    size = int(owners.max()) + 1
    rest, best = np.full(size, np.inf), np.zeros(size)
    rest[owners[rows]] = 1 - found[rows]
    np.maximum.at(best, owners[~decides], found[~decides])
    share = np.minimum(1, rest / np.maximum(best, _TINY))  # of their probability that the other concepts keep
    found[~decides] *= share[owners[~decides]]
    return found


def _put_named_first(probabilities: Floats, matrix: Floats, owners: Ints) -> Floats:
    """Return a copy in which no other concept is before those that have the query as a name, if the memory does not know it.

    The probabilities of the other concepts are scaled down, so that they keep their order.
    """
    is_named = matrix[:, _NAMED] == 1
    is_other = ~is_named & (matrix[:, _COUNT] == 0)
    size = int(owners.max(initial=-1)) + 1
    named, other = np.full(size, np.inf), np.zeros(size)
    named[owners[is_named]] = 0
    np.maximum.at(named, owners[is_named], probabilities[is_named])
    np.maximum.at(other, owners[is_other], probabilities[is_other])
    is_too_high = is_other & (other >= named)[owners]
    limit = np.minimum(np.nextafter(named, 0), 1 - named)[owners[is_too_high]]
    highest = np.maximum(other, _TINY)[owners[is_too_high]]
    found = probabilities.copy()
    found[is_too_high] = np.minimum(probabilities[is_too_high] * (limit / highest), limit)
    return found


def is_overruled(matrix: Floats) -> npt.NDArray[np.bool_]:
    """Return for each pair whether its query mostly means other concepts in the annotated documents."""
    return np.asarray((matrix[:, _COUNT] >= _ANNOTATIONS) & (matrix[:, _SHARE] < 0.5), dtype=bool)
