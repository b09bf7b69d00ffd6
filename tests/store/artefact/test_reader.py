"""Tests of opening artefacts, and of detecting changes since they were published."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from onym.errors import IntegrityError
from onym.store import artefact as reader
from onym.store.arrays import Strings
from onym.store.artefact import Artefact, Manifest, artefact_files, check_artefact
from onym.store.files.stream import RegularFile, open_regular
from onym.store.limits import DEFAULT_LIMITS
from onym.store.stage import Record, staging
from tests.store.artefact.published import publish, versions
from tests.store.artefact.rotten import rot


def test_reads_what_was_published(tmp_path: Path) -> None:
    manifest = publish(tmp_path / "a", 5)
    artefact = Artefact.open(tmp_path / "a", "test", 1)
    assert artefact.location == tmp_path / "a"
    assert artefact.digest == manifest.digest()[:16] == (tmp_path / "a" / "CURRENT").read_text().strip()
    assert artefact.array("numbers").tolist() == [5, 5, 5]
    assert artefact.read_ragged("lists")[1].tolist() == [8, 5]
    assert artefact.strings("names")[0] == "name 5"
    assert artefact.json("report.json") == {"value": 5}
    assert artefact.manifest.counts == {"numbers": 3}
    assert check_artefact(tmp_path / "a") == []
    for missing in (lambda: artefact.array("none"), lambda: artefact.json("none.json")):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            missing()


@pytest.mark.parametrize("data", [b"", b"one\ntwo\n", b"x" * (DEFAULT_LIMITS.manifest_bytes + 1)])
def test_other_files_stay_readable_after_a_new_version(tmp_path: Path, data: bytes) -> None:
    def publish_file(content: bytes) -> None:
        with staging(tmp_path) as stage:
            with stage.file("lines.jsonl") as file:
                assert file.write(content) == len(content)
            stage.publish(tmp_path, "test", 1, Record({}, [], {}))

    publish_file(data)
    artefact = Artefact.open(tmp_path, "test", 1)
    for number in range(3):
        publish_file(b"other %d" % number)
    for _ in range(2):
        with artefact.file("lines.jsonl").open() as stream:
            assert stream.read() == data
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        artefact.file("none.jsonl")


def test_rejects_another_kind_or_format(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    with pytest.raises(IntegrityError, match="artefact-kind"):
        Artefact.open(tmp_path / "a", "other", 1)
    with pytest.raises(IntegrityError, match="artefact-version"):
        Artefact.open(tmp_path / "a", "test", 2)


@pytest.mark.parametrize("folder", ["none", "empty"])
def test_missing_artefact_raises(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(IntegrityError, match="artefact-missing"):
        Artefact.open(tmp_path / folder, "test", 1)
    assert check_artefact(tmp_path / folder) != []


@pytest.mark.parametrize("pointer", ["../../etc", "", "0123456789abcdef", "/etc/passwd", "x" * 1000])
def test_rejects_a_pointer_that_leads_elsewhere(tmp_path: Path, pointer: str) -> None:
    publish(tmp_path / "a")
    (tmp_path / "a" / "CURRENT").write_text(pointer)
    with pytest.raises(IntegrityError):
        Artefact.open(tmp_path / "a", "test", 1)


def test_detects_each_flipped_byte(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    folder = tmp_path / "a" / versions(tmp_path / "a")[0]
    missed = []
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for offset in range(0, len(whole), 7):
            path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 1]) + whole[offset + 1 :])
            if not check_artefact(tmp_path / "a"):
                missed.append((path.name, offset))
        path.write_bytes(whole)
    assert missed == []
    assert check_artefact(tmp_path / "a") == []


def test_detects_missing_and_truncated_files_at_opening(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    column = next((tmp_path / "a").glob("*/numbers.npy"))
    whole = column.read_bytes()
    column.write_bytes(whole[:-1])
    with pytest.raises(IntegrityError, match="wrong size"):
        Artefact.open(tmp_path / "a", "test", 1)
    column.unlink()
    with pytest.raises(IntegrityError, match="missing"):
        Artefact.open(tmp_path / "a", "test", 1)


def test_detects_a_changed_file_of_the_same_size_despite_the_cache(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    column = next((tmp_path / "a").glob("*/numbers.npy"))
    whole = bytearray(column.read_bytes())
    whole[-1] ^= 1
    column.write_bytes(whole)
    os.utime(column, ns=(1, 1))
    with pytest.raises(IntegrityError, match="was changed"):
        Artefact.open(tmp_path / "a", "test", 1)
    publish(tmp_path / "a")  # building the artefact again repairs it
    assert check_artefact(tmp_path / "a") == []


def test_readers_see_the_old_or_the_new_version(tmp_path: Path) -> None:
    publish(tmp_path / "a", 0)
    stop, wrong = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            artefact = Artefact.open(tmp_path / "a", "test", 1)
            if int(artefact.array("numbers")[0]) != artefact.json("report.json")["value"]:
                wrong.append(artefact.digest)

    thread = threading.Thread(target=read)
    thread.start()
    for value in range(30):
        publish(tmp_path / "a", value % 3)
    stop.set()
    thread.join()
    assert wrong == []


def test_detects_a_change_that_keeps_size_and_time(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    column = next((tmp_path / "a").glob("*/numbers.npy"))
    status = column.stat()
    column.write_bytes(column.read_bytes()[:-1] + b"\x07")
    os.utime(column, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert check_artefact(tmp_path / "a") == ["numbers.npy was changed"]
    with pytest.raises(IntegrityError, match="was changed"):  # the change is detected by the file's ctime
        Artefact.open(tmp_path / "a", "test", 1)


def test_open_artefact_stays_usable_after_new_versions(tmp_path: Path) -> None:
    publish(tmp_path / "a", 1)
    artefact = Artefact.open(tmp_path / "a", "test", 1)
    for value in (2, 3, 4):
        publish(tmp_path / "a", value)
    assert artefact.array("numbers").tolist() == [1, 1, 1]
    assert artefact.strings("names")[0] == "name 1"
    assert artefact.json("report.json") == {"value": 1}


def test_columns_are_read_only(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    with pytest.raises(ValueError, match="read-only"):
        Artefact.open(tmp_path / "a", "test", 1).array("numbers")[0] = 9


def test_rejects_a_column_of_another_dtype(tmp_path: Path) -> None:
    with staging(tmp_path / "a") as stage:
        stage.write_array("scores", np.array([0.5], dtype="<f4"))
        stage.write_strings("large", Strings(np.array([0, 1], "<u4"), np.array([65], "<u2")))
        stage.publish(tmp_path / "a", "test", 1, Record({}, [], {}))
    artefact = Artefact.open(tmp_path / "a", "test", 1)
    assert artefact.array("scores", "f").tolist() == [0.5]
    for wrong in (lambda: artefact.array("scores"), lambda: artefact.strings("large")):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            wrong()


def test_check_succeeds_while_versions_change(tmp_path: Path) -> None:
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


def test_rechecks_a_version_that_was_removed_and_republished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "a", 0)
    checked: list[Path] = []
    real = reader._problems_of_files

    def interrupt_check(folder: Path, _: Manifest) -> list[str]:
        monkeypatch.setattr(reader, "_problems_of_files", real)
        for value in (1, 2, 0):
            publish(tmp_path / "a", value)
        checked.append(folder)
        return ["numbers.npy cannot be read"]

    monkeypatch.setattr(reader, "_problems_of_files", interrupt_check)
    assert check_artefact(tmp_path / "a") == []
    (checked[0] / "numbers.npy").unlink()
    assert check_artefact(tmp_path / "a") == ["numbers.npy is missing"]


def test_full_verification_detects_changes_hidden_by_the_cache(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    rot(tmp_path / "a", "numbers.npy", -1, b"x")
    changed = Artefact.open(tmp_path / "a", "test", 1)
    assert not changed.is_new_here
    for look in (lambda: Artefact.open(tmp_path / "a", "test", 1, "full"), changed.require_intact):
        with pytest.raises(IntegrityError, match="numbers.npy was changed"):
            look()


def test_require_intact_hashes_an_open_artefact_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "a")
    artefact = Artefact.open(tmp_path / "a", "test", 1)
    artefact.require_intact()
    monkeypatch.setattr(reader, "_problems_of_files", lambda *_: ["hashed again"])
    artefact.require_intact()


def test_change_during_hashing_is_not_cached_as_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "a")
    own = reader._problems_of_files

    def and_then_write(folder: Path, manifest: Manifest) -> list[str]:
        found = own(folder, manifest)
        os.utime(folder / "numbers.npy", ns=(1, 1))
        return found

    monkeypatch.setattr(reader, "_problems_of_files", and_then_write)
    Artefact.open(tmp_path / "a", "test", 1, "full").remember()
    assert Artefact.open(tmp_path / "a", "test", 1).is_new_here


@pytest.mark.parametrize("pointer", ["\x0b", " ", "0"])
def test_rejects_extra_text_in_the_pointer(tmp_path: Path, pointer: str) -> None:
    publish(tmp_path / "a")
    version = (tmp_path / "a" / "CURRENT").read_text().strip()
    (tmp_path / "a" / "CURRENT").write_text(version + pointer)
    with pytest.raises(IntegrityError, match="artefact-missing"):
        Artefact.open(tmp_path / "a", "test", 1)


@pytest.mark.parametrize("name", ["CURRENT", "manifest.json", "report.json", "numbers.npy"])
def test_too_many_open_files_is_not_reported_as_damage(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "a")

    def refuse(path: Path) -> RegularFile:
        if path.name == name:
            raise OSError(errno.EMFILE, "Too many open files")
        return open_regular(path)

    monkeypatch.setattr(reader, "open_regular", refuse)
    with pytest.raises(OSError, match="Too many open files"):
        Artefact.open(tmp_path / "a", "test", 1, "full")


def test_has_finds_optional_columns(tiny_kb: Path) -> None:
    artefact = Artefact.open(tiny_kb, "onym-kb", 1)
    assert artefact.has("types")
    assert artefact.has("term.kind")
    assert not artefact.has("groups")


def test_lists_only_files_of_the_current_version(tmp_path: Path) -> None:
    publish(tmp_path)
    publish(tmp_path, 2)
    (tmp_path / "note.txt").write_text("not of the artefact")
    current = (tmp_path / "CURRENT").read_text().strip()
    found = [path.as_posix() for path in artefact_files(tmp_path)]
    assert found[:2] == ["CURRENT", f"{current}/manifest.json"]
    files = {f"{current}/{path.name}" for path in (tmp_path / current).iterdir()}
    assert set(found[1:]) == files
