"""A file that is cut short under a reader is an error of the next batch, not the end of the process."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from onym.errors import IntegrityError
from onym.store.artefact.maps import map_file, require_whole_maps
from onym.store.files.regular import open_regular


def mapped(path: Path, dtype: str = "<u4", offset: int = 0) -> np.ndarray:
    with open_regular(path) as file:
        return map_file(file, path, np.dtype(dtype), offset)


def test_a_file_is_mapped_from_an_offset_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"head" + np.arange(3, dtype="<u4").tobytes())
    assert mapped(tmp_path / "a", offset=4).tolist() == [0, 1, 2]


def test_nothing_is_an_array_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"head")
    assert mapped(tmp_path / "a", offset=4).tolist() == []


def test_a_file_that_was_cut_short_is_seen_until_nobody_has_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(100_000))
    column = mapped(tmp_path / "a")
    require_whole_maps()
    with (tmp_path / "a").open("r+b") as file:
        file.truncate(50_000)
    with pytest.raises(IntegrityError, match="a was cut short") as e:
        require_whole_maps()
    assert e.value.code == "artefact-corrupt"
    del column
    gc.collect()
    require_whole_maps()


def test_a_file_that_was_removed_can_still_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(4))
    column = mapped(tmp_path / "a")
    (tmp_path / "a").unlink()
    require_whole_maps()
    assert column.tolist() == [0]
