"""Read and write organism models: trees that choose a species or a cell line, a calibration, and the memory of mentions.

FOLDER/organism-trees/  the trees and the calibration
FOLDER/memory/          how often a key of a name was annotated with each species or cell line
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onym.calibrate import Isotonic
from onym.errors import IntegrityError
from onym.methods.genes.taxon_features import TAXON_NAMES
from onym.methods.trees.memory import Memory, open_memory
from onym.methods.trees.trees import Calibrated, Trees, read_calibration, read_trees, write_calibration, write_trees
from onym.store.artefact import Artefact
from onym.store.cache import Verify
from onym.store.stage import Record, staging

KIND, FORMAT = "organism-trees", 1
TREES, MEMORY, RECORD = "organism-trees", "memory", "training.json"


@dataclass(frozen=True)
class OrganismModel(Calibrated):
    """An opened organism model; the calibration is None if it was not fitted."""

    trees: Trees
    calibration: Isotonic | None
    memory: Memory
    digest: str = ""


def write_organism_trees(dest: Path, trees: Trees, calibration: Isotonic | None, kb: str, record: Mapping[str, Any]) -> None:
    """Write the trees of an organism model to the folder `dest`; its memory is written separately."""
    with staging(dest / TREES) as stage:
        write_trees(stage, trees)
        write_calibration(stage, calibration)
        stage.write_json(RECORD, dict(record))
        counts = {"trees": len(trees.roots), "nodes": len(trees.feature)}
        stage.publish(dest / TREES, KIND, FORMAT, Record({"features": list(TAXON_NAMES), "kb": kb}, [], counts))


def open_organism_model(folder: Path | str, *, verify: Verify = "once") -> OrganismModel:
    """Open an organism model; the trees are checked every time."""
    folder = Path(folder)
    artefact = Artefact.open(folder / TREES, KIND, FORMAT, verify)
    if artefact.manifest.config.get("features") != list(TAXON_NAMES):
        what = "the organism model was trained with the features of another version of Onym"
        fix = "train the model again with onym train organisms"
        raise IntegrityError("artefact-corrupt", what, where=str(artefact.location), fix=fix)
    trees, calibration = read_trees(artefact, len(TAXON_NAMES)), read_calibration(artefact)
    artefact.remember()
    return OrganismModel(trees, calibration, open_memory(folder / MEMORY, verify=verify), artefact.digest)
