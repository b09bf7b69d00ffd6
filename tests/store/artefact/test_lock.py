"""Tests of lock files: only one process can write at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from onym.errors import ConfigError, IntegrityError
from onym.store.stage import exclusive, exclusive_at

HOLD = "import sys, time; from pathlib import Path; from onym.store.stage import exclusive\n"
HOLD += "with exclusive(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"


def test_lock_is_released_at_the_end(tmp_path: Path) -> None:
    for _ in range(2):
        with exclusive(tmp_path / ".lock"):
            pass


def test_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / ".lock")], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(IntegrityError, match="artefact-locked"), exclusive(tmp_path / ".lock"):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with exclusive(tmp_path / ".lock"):
        pass


def test_creates_the_folder_of_the_lock(tmp_path: Path) -> None:
    with exclusive_at(tmp_path / "new" / ".lock"):
        assert (tmp_path / "new").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="output-failed"), exclusive_at(tmp_path / "file" / ".lock"):
        pass
