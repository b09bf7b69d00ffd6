"""The evaluation of a reranker on dev: strict recall@1 on mentions whose gold is in the knowledge base, and the calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onym.calibrate import Isotonic, area_under_roc, expected_calibration_error
from onym.rerank.features import NAMES
from onym.rerank.pool import Floats
from onym.rerank.trees import Trees
from onym.train.rerank.collate import Pairs


class Outcomes(NamedTuple):
    """The best candidate of each mention: its probability, 0 without candidates, and whether it is right."""

    probabilities: Floats
    is_right: npt.NDArray[np.bool_]


def outcomes_of(trees: Trees, columns: tuple[str, ...], pairs: Pairs) -> Outcomes:
    """Return the answer to each mention."""
    scores = trees.probabilities(pairs.matrix[:, [NAMES.index(name) for name in columns]])
    order = np.lexsort((pairs.concepts, -scores, pairs.owners))
    owners, first = np.unique(pairs.owners[order], return_index=True)
    best, size = order[first], len(pairs.is_in_kb)
    probabilities, is_right = np.zeros(size), np.zeros(size, dtype=bool)
    probabilities[owners], is_right[owners] = scores[best], pairs.is_right[best]
    return Outcomes(probabilities, is_right)


def figures_of(pairs: Pairs, found: Outcomes) -> dict[str, float]:
    """Return recall@1 in percent: of all mentions in the knowledge base, of those seen and unseen in training, by type."""
    parts = {"strict_r1": pairs.is_in_kb, "seen": pairs.is_in_kb & pairs.is_seen, "unseen": pairs.is_in_kb & ~pairs.is_seen}
    types = sorted(set(pairs.types.tolist()))
    parts |= {f"type {name}": pairs.is_in_kb & (pairs.types == name) for name in types if name and len(types) > 1}
    figures = {name: round(100 * float(found.is_right[rows].mean()), 1) for name, rows in parts.items() if rows.any()}
    return figures | {"mentions": len(pairs.is_in_kb), "in_kb": int(pairs.is_in_kb.sum())}


def calibrated(found: Mapping[str, Outcomes]) -> tuple[Isotonic, dict[str, float]]:
    """Fit confidences to the outcomes on all dev splits together; also return how good they are on what they were fitted to."""
    scores = np.concatenate([each.probabilities for each in found.values()])
    right = np.concatenate([each.is_right for each in found.values()])
    fitted = Isotonic.fit(scores, right)
    error = expected_calibration_error(fitted.probabilities(scores), right)
    return fitted, {"ece_on_dev": round(error, 4), "auroc_on_dev": round(area_under_roc(scores, right), 4)}
