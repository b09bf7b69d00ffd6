"""Artefacts appear whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError, IntegrityError, LimitError, OnymError
from onym.store.artefact import reader as artefact
from onym.store.artefact.arrays import Strings
from onym.store.artefact.manifest import InputEntry, Manifest
from onym.store.artefact.reader import Artefact, Record, _HashedWriter, check_artefact, staging
from onym.store.limits import DEFAULT_LIMITS


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


def test_published_and_opened(tmp_path: Path) -> None:
    manifest = publish(tmp_path / "a", 5)
    opened = Artefact.open(tmp_path / "a", "test", 1)
    assert opened.digest == manifest.digest()[:16] == (tmp_path / "a" / "CURRENT").read_text().strip()
    assert opened.array("numbers").tolist() == [5, 5, 5]
    assert opened.ragged("lists")[1].tolist() == [8, 5]
    assert opened.strings("names")[0] == "name 5"
    assert opened.json("report.json") == {"value": 5}
    assert opened.manifest.counts == {"numbers": 3}
    assert check_artefact(tmp_path / "a") == []
    for missing in (lambda: opened.array("none"), lambda: opened.json("none.json")):
        with pytest.raises(IntegrityError, match="artefact-torn"):
            missing()


@pytest.mark.parametrize("data", [b"", b"one\ntwo\n", b"x" * (DEFAULT_LIMITS.manifest_bytes + 1)])
def test_a_file_that_is_no_column_is_whole_and_stays_when_it_is_replaced(tmp_path: Path, data: bytes) -> None:
    def publish_file(content: bytes) -> None:
        with staging(tmp_path) as stage:
            with stage.file("lines.jsonl") as file:
                assert file.write(content) == len(content)
            stage.publish(tmp_path, "test", 1, Record({}, [], {}))

    publish_file(data)
    opened = Artefact.open(tmp_path, "test", 1)
    for number in range(3):
        publish_file(b"other %d" % number)
    for _ in range(2):
        with opened.file("lines.jsonl").open() as stream:
            assert stream.read() == data
    with pytest.raises(IntegrityError, match="artefact-torn"):
        opened.file("none.jsonl")


def test_the_same_content_is_the_same_version(tmp_path: Path) -> None:
    assert publish(tmp_path / "a").digest() == publish(tmp_path / "a").digest() == publish(tmp_path / "b").digest()
    assert len(versions(tmp_path / "a")) == 1


def versions(dest: Path) -> list[str]:
    return sorted(path.name for path in dest.iterdir() if path.is_dir() and not path.name.startswith("."))


def test_the_version_before_is_kept_and_older_ones_go(tmp_path: Path) -> None:
    digests = [publish(tmp_path / "a", value).digest()[:16] for value in (1, 2, 3)]
    assert versions(tmp_path / "a") == sorted(digests[1:])
    assert value_of(tmp_path / "a") == 3


def test_another_kind_or_format_is_refused(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    with pytest.raises(IntegrityError, match="artefact-kind"):
        Artefact.open(tmp_path / "a", "other", 1)
    with pytest.raises(IntegrityError, match="artefact-version"):
        Artefact.open(tmp_path / "a", "test", 2)


@pytest.mark.parametrize("folder", ["none", "empty"])
def test_nothing_there(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(IntegrityError, match="artefact-missing"):
        Artefact.open(tmp_path / folder, "test", 1)
    assert check_artefact(tmp_path / folder) != []


@pytest.mark.parametrize("pointer", ["../../etc", "", "0123456789abcdef", "/etc/passwd", "x" * 1000])
def test_a_pointer_elsewhere_is_refused(tmp_path: Path, pointer: str) -> None:
    publish(tmp_path / "a")
    (tmp_path / "a" / "CURRENT").write_text(pointer)
    with pytest.raises(IntegrityError):
        Artefact.open(tmp_path / "a", "test", 1)


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    folder = tmp_path / "a" / versions(tmp_path / "a")[0]
    missed = []
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for place in range(0, len(whole), 7):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            if not check_artefact(tmp_path / "a"):
                missed.append((path.name, place))
        path.write_bytes(whole)
    assert missed == []
    assert check_artefact(tmp_path / "a") == []


def test_a_missing_or_shortened_file_is_found_at_opening(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    column = next((tmp_path / "a").glob("*/numbers.npy"))
    whole = column.read_bytes()
    column.write_bytes(whole[:-1])
    with pytest.raises(IntegrityError, match="wrong size"):
        Artefact.open(tmp_path / "a", "test", 1)
    column.unlink()
    with pytest.raises(IntegrityError, match="missing"):
        Artefact.open(tmp_path / "a", "test", 1)


def test_a_changed_file_of_the_same_size_is_found_though_remembered(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    column = next((tmp_path / "a").glob("*/numbers.npy"))
    whole = bytearray(column.read_bytes())
    whole[-1] ^= 1
    column.write_bytes(whole)
    os.utime(column, ns=(1, 1))
    with pytest.raises(IntegrityError, match="was changed"):
        Artefact.open(tmp_path / "a", "test", 1)
    publish(tmp_path / "a")  # building again mends it
    assert check_artefact(tmp_path / "a") == []


def test_a_manifest_too_large_to_be_read_is_not_written(tmp_path: Path) -> None:
    publish(tmp_path / "a", 1)
    with staging(tmp_path / "a") as stage, pytest.raises(LimitError) as caught:
        stage.publish(tmp_path / "a", "test", 1, Record({"long": "x" * 3_000_000}, [], {}))
    assert caught.value.code == "limit-manifest"
    assert value_of(tmp_path / "a") == 1


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with staging(tmp_path / "a"), pytest.raises(IntegrityError, match="artefact-locked"), staging(tmp_path / "a"):
        pass


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    (tmp_path / "a" / ".stage-dead").mkdir()
    (tmp_path / "a" / ".CURRENT.dead").write_text("x")
    publish(tmp_path / "a", 2)
    assert sorted(p.name for p in (tmp_path / "a").iterdir() if p.name.startswith(".")) == [".lock"]


def test_a_file_or_a_foreign_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    for name in ("file", "folder"):
        with pytest.raises(ConfigError, match="output-exists"):
            publish(tmp_path / name)


CALLS = ["write", "fsync", "rename", "mkdtemp", "replace", "chmod"]


def failing(at: int, call: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the `at`-th call fail as on a full disk; return how many were made."""
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
        "chmod": (Path, "chmod"),
        "rename": (Path, "rename"),
        "replace": (Path, "replace"),
        "mkdtemp": (tempfile, "mkdtemp"),
    }
    owner, name = targets[call]
    monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    return made


@pytest.mark.parametrize("call", CALLS)
def test_a_full_disk_at_any_moment_leaves_the_artefact_before(tmp_path: Path, call: str) -> None:
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
    assert made[0] < at, "every call was made to fail once"


def test_readers_see_one_version_or_the_other(tmp_path: Path) -> None:
    publish(tmp_path / "a", 0)
    stop, wrong = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            opened = Artefact.open(tmp_path / "a", "test", 1)
            if int(opened.array("numbers")[0]) != opened.json("report.json")["value"]:
                wrong.append(opened.digest)

    reader = threading.Thread(target=read)
    reader.start()
    for value in range(30):
        publish(tmp_path / "a", value % 3)
    stop.set()
    reader.join()
    assert wrong == []


@pytest.mark.parametrize("value", [None, 1])
def test_a_build_that_fails_at_the_last_step_leaves_no_version(tmp_path: Path, value: int | None) -> None:
    before = [publish(tmp_path / "a", value).digest()[:16]] if value else []
    with pytest.MonkeyPatch.context() as patch:
        failing(2, "replace", patch)  # the first is that of the note that this machine keeps
        with pytest.raises(ConfigError, match="output-failed"):
            publish(tmp_path / "a", 2)
    assert versions(tmp_path / "a") == before
    assert not list((tmp_path / "a").glob(".stage-*"))


@pytest.mark.parametrize("name", ["manifest.json", "numbers.npy", "report.json"])
def test_building_again_mends_what_was_damaged(tmp_path: Path, name: str) -> None:
    publish(tmp_path / "a")
    path = next((tmp_path / "a").glob(f"*/{name}"))
    path.write_bytes(b"x" + path.read_bytes()[1:])
    assert check_artefact(tmp_path / "a") != []
    publish(tmp_path / "a")
    assert check_artefact(tmp_path / "a") == []
    assert value_of(tmp_path / "a") == 1


def test_a_change_that_keeps_size_and_time_is_found_by_checking(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    column = next((tmp_path / "a").glob("*/numbers.npy"))
    status = column.stat()
    column.write_bytes(column.read_bytes()[:-1] + b"\x07")
    os.utime(column, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert check_artefact(tmp_path / "a") == ["numbers.npy was changed"]


def test_what_is_open_stays_usable_whatever_is_published(tmp_path: Path) -> None:
    publish(tmp_path / "a", 1)
    opened = Artefact.open(tmp_path / "a", "test", 1)
    for value in (2, 3, 4):
        publish(tmp_path / "a", value)
    assert opened.array("numbers").tolist() == [1, 1, 1]
    assert opened.strings("names")[0] == "name 1"
    assert opened.json("report.json") == {"value": 1}


def test_columns_cannot_be_written(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    with pytest.raises(ValueError, match="read-only"):
        Artefact.open(tmp_path / "a", "test", 1).array("numbers")[0] = 9


def test_a_column_of_another_kind_is_refused(tmp_path: Path) -> None:
    with staging(tmp_path / "a") as stage:
        stage.write_array("scores", np.array([0.5], dtype="<f4"))
        stage.write_strings("wide", Strings(np.array([0, 1], "<u4"), np.array([65], "<u2")))
        stage.publish(tmp_path / "a", "test", 1, Record({}, [], {}))
    opened = Artefact.open(tmp_path / "a", "test", 1)
    assert opened.array("scores", "f").tolist() == [0.5]
    for wrong in (lambda: opened.array("scores"), lambda: opened.strings("wide")):
        with pytest.raises(IntegrityError, match="artefact-torn"):
            wrong()


def test_a_folder_that_cannot_be_made_is_told_with_a_code(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="output-failed"):
        publish(tmp_path / "file" / "a")


def test_a_manifest_that_could_not_be_read_back_is_not_published(tmp_path: Path) -> None:
    publish(tmp_path / "a", 1)
    with staging(tmp_path / "a") as stage, pytest.raises(LimitError, match="limit-manifest"):
        stage.publish(tmp_path / "a", "test", 1, Record({"long": "x" * 3_000_000}, [], {}))
    assert value_of(tmp_path / "a") == 1


def test_checking_while_versions_change_finds_nothing_wrong(tmp_path: Path) -> None:
    publish(tmp_path / "a", 0)
    stop, wrong = threading.Event(), []

    def check() -> None:
        while not stop.is_set():
            wrong.extend(check_artefact(tmp_path / "a"))

    checker = threading.Thread(target=check)
    checker.start()
    for value in range(20):
        publish(tmp_path / "a", value % 4)
    stop.set()
    checker.join()
    assert wrong == []


def test_a_version_that_was_removed_and_came_back_meanwhile_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path / "a", 0)
    checked: list[Path] = []
    real = artefact._problems_of_files

    def interrupted(folder: Path, _: Manifest) -> list[str]:
        monkeypatch.setattr(artefact, "_problems_of_files", real)
        for value in (1, 2, 0):
            publish(tmp_path / "a", value)
        checked.append(folder)
        return ["numbers.npy cannot be read"]

    monkeypatch.setattr(artefact, "_problems_of_files", interrupted)
    assert check_artefact(tmp_path / "a") == []
    (checked[0] / "numbers.npy").unlink()
    assert check_artefact(tmp_path / "a") == ["numbers.npy is missing"]
