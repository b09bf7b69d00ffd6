"""Tests that artefacts are published atomically."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onym.errors import ConfigError, IntegrityError, LimitError, OnymError
from onym.store.artefact import check_artefact
from onym.store.stage import Record, _HashedWriter, staging
from tests.store.artefact.published import publish, value_of, versions


def test_same_content_gives_the_same_version(tmp_path: Path) -> None:
    assert publish(tmp_path / "a").digest() == publish(tmp_path / "a").digest() == publish(tmp_path / "b").digest()
    assert len(versions(tmp_path / "a")) == 1


def test_keeps_the_previous_version_and_removes_older_ones(tmp_path: Path) -> None:
    digests = [publish(tmp_path / "a", value).digest()[:16] for value in (1, 2, 3)]
    assert versions(tmp_path / "a") == sorted(digests[1:])
    assert value_of(tmp_path / "a") == 3


def test_does_not_write_a_manifest_too_large_to_read(tmp_path: Path) -> None:
    publish(tmp_path / "a", 1)
    with staging(tmp_path / "a") as stage, pytest.raises(LimitError) as caught:
        stage.publish(tmp_path / "a", "test", 1, Record({"long": "x" * 3_000_000}, [], {}))
    assert caught.value.code == "limit-manifest"
    assert value_of(tmp_path / "a") == 1


def test_second_writer_is_rejected(tmp_path: Path) -> None:
    with staging(tmp_path / "a"), pytest.raises(IntegrityError, match="artefact-locked"), staging(tmp_path / "a"):
        pass


def test_removes_leftovers_of_a_killed_build(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    (tmp_path / "a" / ".stage-dead").mkdir()
    (tmp_path / "a" / ".CURRENT.dead").write_text("x")
    publish(tmp_path / "a", 2)
    assert sorted(p.name for p in (tmp_path / "a").iterdir() if p.name.startswith(".")) == [".lock"]


def test_does_not_overwrite_files_or_other_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    for name in ("file", "folder"):
        with pytest.raises(ConfigError, match="output-exists"):
            publish(tmp_path / name)


CALLS = ["write", "fsync", "rename", "mkdir", "open", "replace"]


def failing(at: int, call: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make the `at`-th call fail as on a full disk; return a list with the number of calls so far."""
    made = [0]

    def wrap(real: Callable[..., object]) -> Callable[..., object]:
        def act(*arguments: object, **named: object) -> object:
            made[0] += 1
            if made[0] == at:
                raise OSError(errno.ENOSPC, "no space left on device")
            return real(*arguments, **named)

        return act

    targets: dict[str, tuple[object, str]] = {
        "write": (_HashedWriter, "write"),
        "fsync": (os, "fsync"),
        "mkdir": (Path, "mkdir"),
        "open": (Path, "open"),
        "rename": (Path, "rename"),
        "replace": (Path, "replace"),
    }
    owner, name = targets[call]
    monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    return made


@pytest.mark.parametrize("call", CALLS)
def test_full_disk_at_any_step_keeps_the_old_artefact(tmp_path: Path, call: str) -> None:
    publish(tmp_path / "a", 1)
    for at in range(1, 60):
        with pytest.MonkeyPatch.context() as patch:
            made = failing(at, call, patch)
            codes = []
            try:
                publish(tmp_path / "a", 1 + at)
            except OnymError as e:
                codes = [e.code]
        assert codes in ([], ["output-failed"])
        assert check_artefact(tmp_path / "a") == []
        assert value_of(tmp_path / "a") in (1, 1 + at)
        left = {path.name for path in (tmp_path / "a").iterdir() if path.name.startswith(".")}
        assert left == {".lock"}
        if made[0] < at:
            break
        publish(tmp_path / "a", 1)
    assert made[0] < at, "every call has failed once"


@pytest.mark.parametrize("value", [None, 1])
def test_build_that_fails_at_the_last_step_leaves_no_version(tmp_path: Path, value: int | None) -> None:
    before = [publish(tmp_path / "a", value).digest()[:16]] if value else []
    with pytest.MonkeyPatch.context() as patch:
        failing(2, "replace", patch)  # the first `replace` writes a note in the cache, the second publishes the version
        with pytest.raises(ConfigError, match="output-failed"):
            publish(tmp_path / "a", 2)
    assert versions(tmp_path / "a") == before
    assert not list((tmp_path / "a").glob(".stage-*"))


@pytest.mark.parametrize("name", ["manifest.json", "numbers.npy", "report.json"])
def test_rebuilding_repairs_a_damaged_version(tmp_path: Path, name: str) -> None:
    publish(tmp_path / "a")
    path = next((tmp_path / "a").glob(f"*/{name}"))
    path.write_bytes(b"x" + path.read_bytes()[1:])
    assert check_artefact(tmp_path / "a") != []
    publish(tmp_path / "a")
    assert check_artefact(tmp_path / "a") == []
    assert value_of(tmp_path / "a") == 1


def test_folder_that_cannot_be_created_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="output-failed"):
        publish(tmp_path / "file" / "a")


def test_artefact_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        publish(tmp_path / "a")
    finally:
        os.umask(before)
    (version,) = (tmp_path / "a" / name for name in versions(tmp_path / "a"))
    assert version.stat().st_mode & 0o777 == 0o750
    assert {path.stat().st_mode & 0o777 for path in version.iterdir()} == {0o640}
