"""A small configuration of a detector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onym.train.collective.detector.config import DetectorTrainingConfig
from tests.train.tiny import encoder_optim

TYPES = {"SpecificDisease": "Disease", "Modifier": "Disease"}


def config(model: Path, *corpora: Path, **more: dict[str, Any]) -> DetectorTrainingConfig:
    """Return a configuration; `more` are its tables, whose keys win."""
    tables: dict[str, dict[str, Any]] = {
        "start": {"model": str(model), "window": 24, "overlap": 8, "dropout": 0.0, "hidden": 8},
        "data": {"datasets": [str(corpus) for corpus in corpora], "types": TYPES},
        "dev": {"documents": 0},
        "optim": encoder_optim().model_dump(),
    }
    return DetectorTrainingConfig.of({name: table | more.get(name, {}) for name, table in tables.items()})
