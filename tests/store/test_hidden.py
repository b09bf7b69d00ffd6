"""Tests that temp files of killed runs are removed by the next run, and that temp files in use are kept."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onym.store import hidden as hidden_module
from onym.store.hidden import make_hidden, remove_left, set_aside
from onym.store.output import whole_file, whole_folder

LEFT = ".out.0123456789abcdef.onym-new"
WRITER = """
import sys
from pathlib import Path
from onym.store.output import whole_file, whole_folder
path = Path(sys.argv[1])
with whole_folder(path) if sys.argv[2] == "folder" else whole_file(path) as output:
    (output.path / "a").write_bytes(b"text") if sys.argv[2] == "folder" else output.write(b"text")
    print("writing", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_removes_temp_files_of_killed_runs_but_not_of_running_ones(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"

    def write() -> None:
        if kind == "file":
            with whole_file(target, force=True):
                pass
        else:
            with whole_folder(target, force=True):
                pass

    command = [sys.executable, "-c", WRITER, str(target), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        write()
        assert len(list(tmp_path.iterdir())) == 2, "temp files of running processes are kept"
        process.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 2
    write()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "out",
            ".out",
            ".out.txt",
            ".out.0123456789abcdef",
            ".out.0123456789abcde.onym-new",
            ".other.0123456789abcdef.onym-new",
        ),
        *(".out.0123456789ABCDEF.onym-new", ".out.0123456789abcdef.onym-newer", "x.out.0123456789abcdef.onym-new"),
    ],
)
def test_other_files_are_not_touched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    remove_left(tmp_path / "out")
    assert (tmp_path / name).exists()


def test_links_and_pipes_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / LEFT).symlink_to(tmp_path)
    os.mkfifo(tmp_path / LEFT.replace("0", "1"))
    remove_left(tmp_path / "out")
    assert len(list(tmp_path.iterdir())) == 2


def test_restores_a_folder_that_a_killed_run_set_aside(tmp_path: Path) -> None:
    aside = tmp_path / ".out.0123456789abcdef.onym-old"
    aside.mkdir()
    (aside / "a").touch()
    remove_left(tmp_path / "out")
    assert (tmp_path / "out" / "a").exists()
    aside.mkdir()
    remove_left(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_keeps_a_folder_that_a_running_process_set_aside(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with set_aside(tmp_path / "out"):
        remove_left(tmp_path / "out")
        assert not (tmp_path / "out").exists()
    assert list(tmp_path.iterdir()) == []


def test_recreates_a_temp_file_removed_before_it_was_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, calls = fcntl.flock, []

    def remove_at_first(descriptor: int, flags: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            next(tmp_path.iterdir()).unlink()
        elif len(calls) == 2:
            raise BlockingIOError
        flock(descriptor, flags)

    monkeypatch.setattr(fcntl, "flock", remove_at_first)
    with make_hidden(tmp_path / "out") as new:
        assert new.exists()
    assert len(calls) == 3


@pytest.mark.parametrize("system", ["no locks", "no fcntl", "no rights"])
def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    (tmp_path / LEFT).touch()

    def refuse(*_: object) -> int:
        raise OSError(95, "not supported")

    if system == "no fcntl":
        monkeypatch.setattr(hidden_module, "_locks", None)
    elif system == "no locks":
        monkeypatch.setattr(fcntl, "flock", refuse)
    else:
        real_open = os.open
        monkeypatch.setattr(
            os, "open", lambda path, flags, *mode: refuse() if flags & os.O_NOFOLLOW else real_open(path, flags, *mode)
        )
    with whole_file(tmp_path / "out") as file:
        file.write(b"whole")
    assert (tmp_path / "out").read_bytes() == b"whole"
    assert sorted(path.name for path in tmp_path.iterdir()) == [LEFT, "out"]
