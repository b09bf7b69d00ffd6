"""Tests of reading and writing a trained reranker."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.calibrate import Isotonic
from onym.errors import IntegrityError
from onym.methods.reranker.features import NAMES
from onym.methods.reranker.model import MEMORY, RerankerOrigin, open_reranker, write_reranker
from onym.methods.trees.memory import write_memory
from tests.support.models import stump

ORIGIN = RerankerOrigin(features=("kind", "tfidf"), parts=("tfidf",))
TREES = stump(feature=1)


def write_folder(folder: Path, **changed: Any) -> Path:
    values: dict[str, Any] = {"origin": ORIGIN, "trees": TREES, "calibration": Isotonic((0.0, 1.0), (0.2, 0.8)), **changed}
    write_memory(Counter(), [], folder / MEMORY)
    write_reranker(folder, values["origin"], values["trees"], values["calibration"], {"made": "here"})
    return folder


def test_write_and_open_round_trip(tmp_path: Path) -> None:
    reranker = open_reranker(write_folder(tmp_path / "model"))
    row = np.zeros((1, len(NAMES)))
    row[0, NAMES.index("tfidf")] = 0.9
    assert reranker.probabilities(row).round(3).tolist() == [0.731]
    assert reranker.confidence(0.5) == 0.5
    assert reranker.origin == ORIGIN


@pytest.mark.parametrize(
    "changed",
    [
        {"trees": replace(TREES, feature=np.array([2, 0, 0]))},
        {"trees": replace(TREES, left=np.array([7, 1, 2]))},
        {"trees": replace(TREES, left=np.array([1, 0, 2]), right=np.array([2, 0, 2]))},
        {"trees": replace(TREES, value=np.array([0.0, np.nan, 1.0]))},
        {"origin": ORIGIN.model_copy(update={"features": ("kind", "colour")})},
    ],
)
def test_rejects_manipulated_files(tmp_path: Path, changed: dict[str, Any]) -> None:
    for _ in range(2):  # also if the digest was already verified by the first opening
        with pytest.raises(IntegrityError) as error:
            open_reranker(write_folder(tmp_path / "model", **changed))
        assert error.value.code == "artefact-corrupt"


def test_rejects_knots_that_are_not_ascending(tmp_path: Path) -> None:
    falling = object.__new__(Isotonic)
    object.__setattr__(falling, "scores", (0.0, 1.0))
    object.__setattr__(falling, "values", (0.9, 0.1))
    with pytest.raises(IntegrityError, match="are not sorted"):
        open_reranker(write_folder(tmp_path / "model", calibration=falling))


def test_rejects_changed_bytes_and_missing_memory(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model")
    (column,) = folder.glob("trees/*/value.npy")
    data = bytearray(column.read_bytes())
    data[-1] ^= 1
    column.write_bytes(data)
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_reranker(folder)
    write_reranker(tmp_path / "other", ORIGIN, TREES, None, {})
    with pytest.raises(IntegrityError, match="artefact-missing"):
        open_reranker(tmp_path / "other")
