from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.store.stage import Work

VALUES = np.arange(6, dtype=np.float32)


def test_keeps_columns_for_the_same_inputs(tmp_path: Path) -> None:
    Work(tmp_path / "work", ["a", "b"]).keep("one", VALUES)
    found = Work(tmp_path / "work", ["a", "b"]).piece("one", "<f4", 6)
    assert found is not None
    assert found.tolist() == VALUES.tolist()
    assert Work(tmp_path / "work", ["a", "b"]).piece("two", "<f4", 6) is None


def test_discards_columns_of_other_inputs(tmp_path: Path) -> None:
    Work(tmp_path / "work", ["a", "b"]).keep("one", VALUES)
    assert Work(tmp_path / "work", ["ab"]).piece("one", "<f4", 6) is None
    assert Work(tmp_path / "work", ["a", "b"]).piece("one", "<f4", 6) is None


@pytest.mark.parametrize(("dtype", "length"), [("<f4", 5), ("<f8", 6), ("<f8", 3)])
def test_ignores_a_column_of_another_type_or_length(tmp_path: Path, dtype: str, length: int) -> None:
    work = Work(tmp_path / "work", ["a"])
    work.keep("one", VALUES)
    assert work.piece("one", dtype, length) is None


def test_ignores_a_damaged_column(tmp_path: Path) -> None:
    work = Work(tmp_path / "work", ["a"])
    work.keep("one", VALUES)
    path = tmp_path / "work" / "one.npy"
    path.write_bytes(path.read_bytes()[:-1])
    assert work.piece("one", "<f4", 6) is None
    work.keep("one", VALUES)
    assert work.piece("one", "<f4", 6) is not None


def test_remove_deletes_all_columns(tmp_path: Path) -> None:
    work = Work(tmp_path / "work", ["a"])
    work.keep("one", VALUES)
    work.remove()
    assert not (tmp_path / "work").exists()
