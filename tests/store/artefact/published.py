"""Publishes a small artefact."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onym.store.arrays import Strings
from onym.store.artefact import Artefact, InputEntry, Manifest
from onym.store.stage import Record, staging


def publish(dest: Path, value: int = 1, size: int = 3) -> Manifest:
    with staging(dest) as stage:
        stage.write_array("numbers", np.full(size, value, dtype="<u4"))
        stage.write_ragged("lists", np.array([0, 1, 3]), np.array([7, 8, value], dtype="<u2"))
        stage.write_strings("names", Strings.of([f"name {value}", "fever"]))
        stage.write_json("report.json", {"value": value})
        entry = InputEntry(name="in.tsv", bytes=1, sha256="0" * 64)
        return stage.publish(dest, "test", 1, Record({"value": value}, [entry], {"numbers": size}))


def value_of(dest: Path) -> int:
    return int(Artefact.open(dest, "test", 1).array("numbers")[0])


def versions(dest: Path) -> list[str]:
    return sorted(path.name for path in dest.iterdir() if path.is_dir() and not path.name.startswith("."))
