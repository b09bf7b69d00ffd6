"""Read and write rerankers: trees over the features of candidates, a calibration, and the memory of annotated mentions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.calibrate import Isotonic
from onym.errors import IntegrityError
from onym.methods.reranker.features import NAMES
from onym.methods.trees.memory import Memory, open_memory
from onym.methods.trees.trees import Calibrated, Floats, Trees, read_calibration, read_trees, write_calibration, write_trees
from onym.store.artefact import Artefact
from onym.store.cache import Verify
from onym.store.stage import Record, staging

KIND, FORMAT = "reranker", 1
TREES, MEMORY, RECORD = "trees", "memory", "training.json"


class RerankerOrigin(BaseModel):
    """The inputs a reranker expects: its features in column order, and the linkers that propose candidates.

    With `skips_names`, it was trained without their candidates for queries that are names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: tuple[str, ...]
    parts: tuple[str, ...]
    encoder: str = ""
    kb: str = ""
    skips_names: bool = Field(default=False, exclude_if=lambda skips: not skips)


@dataclass(frozen=True)
class Reranker(Calibrated):
    """An opened reranker: trees that use a subset of the features, a memory, and a calibration (None if not fitted)."""

    origin: RerankerOrigin
    trees: Trees
    calibration: Isotonic | None
    memory: Memory
    digest: str = ""

    def probabilities(self, matrix: Floats) -> Floats:
        """Return the probability of each pair; the columns of `matrix` are all features, in the order of `NAMES`."""
        return self.trees.probabilities(matrix[:, [NAMES.index(name) for name in self.origin.features]])


def write_reranker(
    dest: Path, origin: RerankerOrigin, trees: Trees, calibration: Isotonic | None, record: Mapping[str, Any]
) -> None:
    """Write the trees of a reranker to the folder `dest`; its memory is written there separately."""
    with staging(dest / TREES) as stage:
        write_trees(stage, trees)
        write_calibration(stage, calibration)
        stage.write_json(RECORD, dict(record))
        counts = {"trees": len(trees.roots), "nodes": len(trees.feature)}
        stage.publish(dest / TREES, KIND, FORMAT, Record(origin.model_dump(mode="json"), [], counts))


def open_reranker(folder: Path | str, *, verify: Verify = "once") -> Reranker:
    """Open a reranker; the trees are checked every time."""
    folder = Path(folder)
    artefact = Artefact.open(folder / TREES, KIND, FORMAT, verify)
    origin = _origin(artefact)
    trees = read_trees(artefact, len(origin.features))
    calibration = read_calibration(artefact)
    artefact.remember()
    return Reranker(origin, trees, calibration, open_memory(folder / MEMORY, verify=verify), artefact.digest)


def _origin(artefact: Artefact) -> RerankerOrigin:
    where = str(artefact.location)
    try:
        origin = RerankerOrigin.model_validate_json(json.dumps(artefact.manifest.config), strict=True)
    except ValidationError as e:
        what = "the configuration in the reranker's manifest is invalid"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="train the reranker again") from e
    if unknown := sorted(set(origin.features) - set(NAMES)):
        what = f"the reranker needs the feature {unknown[0][:40]!r}, which this version of Onym does not have"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="train the reranker again with this version")
    return origin
