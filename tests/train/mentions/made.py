"""A small configuration of a classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onym.train.mentions.config import MentionsTrainingConfig

TYPES = ("SpecificDisease", "Disease", "Modifier", "DiseaseClass")


def config(corpus: Path, kb: Path, **more: dict[str, Any]) -> MentionsTrainingConfig:
    """Return a configuration; `more` are its tables, whose keys win."""
    tables: dict[str, dict[str, Any]] = {
        "data": {"datasets": [str(corpus)], "kb": str(kb), "types": dict.fromkeys(TYPES, "Disease")},
        "dictionary": {},
        "regression": {"strength": 10.0},
        "dev": {},
    }
    return MentionsTrainingConfig.of({name: table | more.get(name, {}) for name, table in tables.items()})
