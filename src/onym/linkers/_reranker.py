"""A trained reranker as a folder: `trees`, an artefact with the features that they ask for and a calibration, and `memory`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, ValidationError

from onym.calibrate import Isotonic
from onym.errors import InputError, IntegrityError
from onym.linkers._features import NAMES
from onym.linkers._memory import Memory, open_memory
from onym.linkers._trees import Floats, Trees
from onym.store.artefact.reader import Artefact
from onym.store.artefact.stage import Record, staging
from onym.store.verify import Verify

KIND, FORMAT = "reranker", 1
TREES, MEMORY, RECORD = "trees", "memory", "training.json"
_INTEGERS = {"roots": "<u4", "feature": "<u2", "left": "<u4", "right": "<u4", "is_left_missing": "<u1"}
_FLOATS = ("threshold", "value", "baseline", "calibration.scores", "calibration.values")


class RerankerOrigin(BaseModel):
    """What a reranker expects: the features in the order of its columns, and the linkers that propose candidates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: tuple[str, ...]
    parts: tuple[str, ...]
    encoder: str = ""
    kb: str = ""


@dataclass(frozen=True)
class Reranker:
    """Trees over some of the features, with a calibration of the best candidate's probability where it was fitted."""

    origin: RerankerOrigin
    trees: Trees
    calibration: Isotonic | None
    memory: Memory
    digest: str = ""

    def probabilities(self, matrix: Floats) -> Floats:
        """Return the probability of each pair by all its features, in the order of `NAMES`."""
        return self.trees.probabilities(matrix[:, [NAMES.index(name) for name in self.origin.features]])

    def confidence(self, probability: float) -> float:
        """Return the calibrated probability that a mention's best candidate is right."""
        if self.calibration is None:
            return probability
        return float(self.calibration.probabilities(np.array([probability]))[0])


def write_reranker(
    dest: Path, origin: RerankerOrigin, trees: Trees, calibration: Isotonic | None, record: Mapping[str, Any]
) -> None:
    """Publish the trees of a reranker in the folder `dest`; its memory is published there as well."""
    knots: tuple[Sequence[float], Sequence[float]] = (calibration.scores, calibration.values) if calibration else ((), ())
    with staging(dest / TREES) as stage:
        for name, column in trees.columns.items():
            stage.write_array(name, column.astype(_INTEGERS.get(name, "<f8")))
        for name, values in zip(("scores", "values"), knots, strict=True):
            stage.write_array(f"calibration.{name}", np.array(values, dtype="<f8"))
        stage.write_json(RECORD, dict(record))
        counts = {"trees": len(trees.roots), "nodes": len(trees.feature)}
        stage.publish(dest / TREES, KIND, FORMAT, Record(origin.model_dump(mode="json"), [], counts))


def open_reranker(folder: Path | str, *, verify: Verify = "once") -> Reranker:
    """Open a reranker. Its trees are checked each time, before anything is computed with them."""
    folder = Path(folder)
    artefact = Artefact.open(folder / TREES, KIND, FORMAT, verify)
    origin = _origin(artefact)
    columns: dict[str, npt.NDArray[Any]] = {name: artefact.array(name) for name in _INTEGERS}
    columns |= {name: artefact.array(name, "f") for name in _FLOATS}
    trees = Trees.of({name: np.array(column) for name, column in columns.items()})  # walked in memory, not in a map
    trees.require_sound(len(origin.features), str(folder))
    calibration = _calibration(columns["calibration.scores"], columns["calibration.values"], str(folder))
    artefact.remember()
    return Reranker(origin, trees, calibration, open_memory(folder / MEMORY, verify=verify), artefact.digest)


def _origin(artefact: Artefact) -> RerankerOrigin:
    where = str(artefact.location)
    try:
        origin = RerankerOrigin.model_validate_json(json.dumps(artefact.manifest.config), strict=True)
    except ValidationError as e:
        what = "the manifest does not say what the reranker expects"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="train it again") from e
    if unknown := sorted(set(origin.features) - set(NAMES)):
        what = f"the reranker asks for a feature that this Onym does not have: {unknown[0][:40]!r}"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="train it again with this Onym")
    return origin


def _calibration(scores: Floats, values: Floats, where: str) -> Isotonic | None:
    if not len(scores) and not len(values):
        return None
    try:
        return Isotonic(tuple(scores.tolist()), tuple(values.tolist()))
    except InputError as e:
        raise IntegrityError("artefact-corrupt", e.what, where=where, fix="train it again") from e
