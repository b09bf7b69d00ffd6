"""Tests of columns on disk: round trips, and rejection of damaged files."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import IntegrityError
from onym.store import arrays
from onym.store.arrays import Ragged, Strings, open_array, release, smallest_offsets
from onym.store.stage import Stage

TEXTS = st.lists(st.text(max_size=6))


def write_column(tmp_path: Path, values: np.ndarray) -> Path:
    Stage(tmp_path).write_array("column", values)
    return tmp_path / "column.npy"


@pytest.mark.parametrize("dtype", ["|u1", "<u2", "<u4", "<u8", "<i8", "<f4"])
def test_round_trip(tmp_path: Path, dtype: str) -> None:
    values = np.arange(7).astype(dtype)
    column = open_array(write_column(tmp_path, values), dtype, 7)
    assert isinstance(column, np.memmap)
    assert column.tolist() == values.tolist()


def test_maps_an_empty_column(tmp_path: Path) -> None:
    assert len(open_array(write_column(tmp_path, np.empty(0, "<u4")), "<u4", 0)) == 0


@pytest.mark.parametrize(("dtype", "length"), [("<u8", 5), ("<u4", 6), ("|O", 5), ("<U4", 5)])
def test_rejects_a_header_that_contradicts_the_manifest(tmp_path: Path, dtype: str, length: int) -> None:
    path = write_column(tmp_path, np.arange(5, dtype="<u4"))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_array(path, dtype, length)


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d + b"x", lambda d: b"", lambda d: b"\x93NUMPY\x02\x00" + d[8:]]
)
def test_rejects_a_damaged_column(tmp_path: Path, damage: object) -> None:
    path = write_column(tmp_path, np.arange(5, dtype="<u4"))
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_array(path, "<u4", 5)


def test_offsets_use_64_bits_only_if_needed() -> None:
    assert smallest_offsets(np.array([0, 2**32 - 1])).dtype == np.uint32
    assert smallest_offsets(np.array([0, 2**32])).dtype == np.uint64


@given(TEXTS)
def test_strings_round_trip(texts: list[str]) -> None:
    column = Strings.of(texts)
    column.require_sound("column")
    assert [column[i] for i in range(len(column))] == texts
    assert column.to_arrow().to_pylist() == texts


@given(TEXTS, st.text(max_size=6))
def test_find_agrees_with_list_index(texts: list[str], wanted: str) -> None:
    distinct = sorted(set(texts), key=str.encode)
    column = Strings.of(distinct)
    assert column.find(wanted) == (distinct.index(wanted) if wanted in distinct else -1)
    assert [column.find(text) for text in distinct] == list(range(len(distinct)))
    assert column.lower_bound(wanted.encode()) == sum(text.encode() < wanted.encode() for text in distinct)


def test_find_uses_sampled_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.store.arrays._POSTS", 7)
    words = sorted(f"w{i}" for i in range(1000))
    column = Strings.of(words)
    assert [column.find(word) for word in words] == list(range(1000))
    assert [column.find(f"{word}x") for word in words] == [-1] * 1000


def test_finds_strings_in_a_mapped_column(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write_strings("s", Strings.of(["aspirin", "fever", "\u03b2-blocker"]))
    column = Strings(open_array(tmp_path / "s.offsets.npy", "<u4", 4), open_array(tmp_path / "s.data.npy", "|u1", 22))
    assert column.find("\u03b2-blocker") == 2
    assert column.to_arrow().to_pylist() == ["aspirin", "fever", "\u03b2-blocker"]


@pytest.mark.parametrize(
    ("offsets", "data"),
    [
        ([0, 5], b"abc"),
        ([1, 3], b"abc"),
        ([0, 2, 1, 3], b"abc"),
        ([], b""),
        ([0, 1, 2], "\u03b2".encode()),
        ([0, 2], b"\xff\xfe"),
    ],
)
def test_rejects_invalid_string_columns(offsets: list[int], data: bytes) -> None:
    column = Strings(np.array(offsets, dtype=np.uint32), np.frombuffer(data, dtype=np.uint8))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        column.require_sound("column")


def test_rejects_values_beyond_the_table() -> None:
    lists = Ragged(np.array([0, 1, 3]), np.array([0, 4, 2]))
    lists.require_sound("lists", 5)
    with pytest.raises(IntegrityError, match="beyond the end"):
        lists.require_sound("lists", 4)


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1), st.data())
def test_take_returns_lists_of_the_given_rows(lists: list[list[int]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1)))
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.uint32)
    values = np.array([value for members in lists for value in members], dtype=np.uint16)
    found = Ragged(offsets, values).take(np.array(rows, dtype=np.int64))
    assert [found[i].tolist() for i in range(len(found))] == [lists[row] for row in rows]
    assert found.values.dtype == np.uint16
    found.require_sound("lists")


def test_lone_surrogate_is_not_found() -> None:
    assert Strings.of(["?", "a"]).find("\ud800") == -1


def test_validates_columns_longer_than_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.store.arrays._SLICE", 7)
    good = Strings.of(["\u03b2-blocker", "", "x" * 50, "\U0001f600"] * 5)
    good.require_sound("column")
    data = good.data.copy()
    data[-1] = 0xFF
    with pytest.raises(IntegrityError, match="not UTF-8"):
        Strings(good.offsets, data).require_sound("column")


@given(st.binary(max_size=160), st.integers(0, 127))
def test_header_of_any_bytes_is_read_or_rejected(tmp_path_factory: pytest.TempPathFactory, noise: bytes, offset: int) -> None:
    path = tmp_path_factory.mktemp("header") / "a.npy"
    np.save(path, np.arange(5, dtype="<u4"))
    whole = path.read_bytes()
    path.write_bytes(whole[:offset] + noise + whole[offset + len(noise) :])
    with suppress(IntegrityError):
        assert len(open_array(path, "<u4", 5)) == 5


def test_rejects_paths_that_are_not_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    for name in ("pipe.npy", "nothing.npy"):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            open_array(tmp_path / name, "<u4", 0)


def resident_kb(path: Path) -> int:
    """Return how many KiB of a mapped file are resident in memory."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.endswith(str(path)))
    return next(int(line.split()[1]) for line in lines[start:] if line.startswith("Rss:"))


@pytest.mark.skipif(not Path("/proc/self/smaps").is_file(), reason="only Linux has smaps")
def test_released_pages_do_not_count_as_memory(tmp_path: Path) -> None:
    Stage(tmp_path).write_array("numbers", np.arange(100_000, dtype=np.int64))
    column = open_array(tmp_path / "numbers.npy", "<i8", 100_000).reshape(10, -1)
    assert column.sum() == 4_999_950_000
    assert resident_kb(tmp_path / "numbers.npy") > 700
    release(column)
    assert resident_kb(tmp_path / "numbers.npy") < 100
    assert column.sum() == 4_999_950_000


def test_release_ignores_columns_in_memory() -> None:
    column = np.arange(3)
    release(column)
    assert column.tolist() == [0, 1, 2]


@pytest.mark.parametrize("offsets", [[0, 9, 3], [0, 3, 2], [2, 1, 3], [0, 2**31, 3]])
def test_damaged_string_offsets_raise_on_access(offsets: list[int]) -> None:
    column = Strings(np.array(offsets, dtype=np.uint32), np.frombuffer(b"abc", dtype=np.uint8))
    for look in (lambda: [column[0], column[1]], column.to_arrow, lambda: column.find("abc")):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            look()


def test_invalid_utf8_strings_raise_on_access() -> None:
    column = Strings(np.array([0, 1, 2], dtype=np.uint32), np.frombuffer("é".encode(), dtype=np.uint8))
    for look in (lambda: column[0], column.to_arrow):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            look()
    assert column.find("é") == -1


@pytest.mark.parametrize("offsets", [[0, 9, 3], [0, 3, 2], [2, 1, 3], [0, 2**31, 3]])
def test_damaged_list_offsets_raise_on_access(offsets: list[int]) -> None:
    lists = Ragged(np.array(offsets, dtype=np.uint32), np.array([1, 2, 3]))
    for look in (lambda: [lists[0], lists[1]], lists.owners, lambda: lists.take(np.array([0, 1]))):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            look()


def test_list_values_beyond_the_table_raise_on_access() -> None:
    lists = Ragged(np.array([0, 1, 2]), np.array([0, 7]), into=7)
    assert lists[0].tolist() == lists.take(np.array([0])).values.tolist() == [0]
    for look in (lambda: lists[1], lists.owners, lambda: lists.take(np.array([1]))):
        with pytest.raises(IntegrityError, match="beyond the end of its table"):
            look()


def test_row_out_of_range_raises_index_error() -> None:
    with pytest.raises(IndexError):
        Strings.of(["a", "b"])[2]
    with pytest.raises(IndexError):
        Ragged(np.array([0, 1]), np.array([5]))[1]


def test_too_many_open_files_is_not_reported_as_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(arrays, "open_regular", refuse)
    with pytest.raises(OSError, match="Too many open files"):
        open_array(tmp_path / "a.npy", "<i8", 3)
