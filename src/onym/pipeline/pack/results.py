"""Measured figures for the card of a pack: rows of a file of results, as entries of a hub's `model-index`.

A row has at least `dataset`, `split` and `figures`; `row` is its key. The files of `results/` are such.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onym.errors import ConfigError, InputError
from onym.store.files.regular import read_regular
from onym.store.limits import MIB

_MAX_BYTES = 16 * MIB
_METRICS = {
    "strict_f1": ("f1", "strict F1, span and concept"),
    "strict_p": ("precision", "strict precision"),
    "strict_r": ("recall", "strict recall"),
    "document_f1": ("f1", "F1 of the concepts of a document"),
    "any_id_r1": ("accuracy", "recall@1 of annotated mentions, any id"),
    "strict_r1": ("accuracy", "recall@1 of annotated mentions, strict"),
}


def read_results(path: Path, keys: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return rows of a file of results as a `model-index` has them: those with these keys, or all."""
    try:
        rows = _require_list(json.loads(read_regular(path, _MAX_BYTES)))
        found = [_entry(row) for row in rows if not keys or row["row"] in keys]
        known = {str(row.get("row", "")) for row in rows}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as e:
        what = "not a list of rows with a dataset, a split and figures"
        raise InputError("results-malformed", what, where=str(path), fix="name a rows.json as in results/") from e
    if missing := [key for key in keys if key not in known]:
        raise ConfigError("config-invalid", f"there is no row {missing[0]!r}", where=str(path), fix="see its keys `row`")
    return [entry for entry in found if entry["metrics"]]


def _require_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("no list")
    return value


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    dataset, split = str(row["dataset"]), str(row["split"])
    return {
        "task": {"type": "token-classification", "name": "Entity linking"},
        "dataset": {"type": dataset, "name": dataset, "split": split},
        "metrics": [
            {"type": kind, "name": name, "value": _number(row["figures"][key])}
            for key, (kind, name) in _METRICS.items()
            if key in row["figures"]
        ],
    }


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("no number")
    return value
