"""One file, whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.store.output import whole_file


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    with whole_file(tmp_path / "deep" / "out.txt") as file:
        file.write(b"half")
        assert not (tmp_path / "deep" / "out.txt").exists()
    assert (tmp_path / "deep" / "out.txt").read_bytes() == b"half"


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), whole_file(tmp_path / "out.txt"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_overwritten_only_by_force(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old")
    with pytest.raises(ConfigError, match="output-exists"), whole_file(tmp_path / "out.txt"):
        pass
    with whole_file(tmp_path / "out.txt", force=True) as file:
        file.write(b"new")
    assert (tmp_path / "out.txt").read_text() == "new"
