"""Tests that truncating a mapped file makes the next batch raise, instead of crashing the process."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest

from onym.errors import IntegrityError
from onym.store.arrays import map_file, require_whole_maps
from onym.store.files.stream import open_regular


def map_column(path: Path, dtype: str = "<u4", offset: int = 0) -> np.ndarray:
    with open_regular(path) as file:
        return map_file(file, path, np.dtype(dtype), offset)


def test_maps_a_file_from_an_offset(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"head" + np.arange(3, dtype="<u4").tobytes())
    assert map_column(tmp_path / "a", offset=4).tolist() == [0, 1, 2]


def test_empty_file_gives_an_empty_array(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"head")
    assert map_column(tmp_path / "a", offset=4).tolist() == []


def test_detects_a_truncated_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(100_000))
    column = map_column(tmp_path / "a")
    require_whole_maps()
    os.truncate(tmp_path / "a", 50_000)
    with pytest.raises(IntegrityError, match="a was truncated") as e:
        require_whole_maps()
    assert e.value.code == "artefact-corrupt"
    os.truncate(tmp_path / "a", 100_000)  # restore the file: the error keeps the map alive, and later tests check all maps
    require_whole_maps()
    assert int(column[-1]) == 0


def test_ignores_files_that_are_no_longer_mapped(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(100_000))
    column = map_column(tmp_path / "a")
    assert int(column[0]) == 0
    del column
    gc.collect()
    os.truncate(tmp_path / "a", 0)
    require_whole_maps()


def test_removed_file_stays_readable(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(4))
    column = map_column(tmp_path / "a")
    (tmp_path / "a").unlink()
    require_whole_maps()
    assert column.tolist() == [0]
